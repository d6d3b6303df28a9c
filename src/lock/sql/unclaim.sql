UPDATE locks
SET claim_id = NULL, claimed_at = NULL,
    claim_pid = NULL, claim_start_time = NULL, claim_boot_id = NULL,
    claim_machine_id = NULL, claim_host_name = NULL, claim_pid_namespace = NULL
WHERE claim_id = :claim_id
