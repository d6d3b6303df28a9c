UPDATE locks
SET claim_id = :claim_id, claimed_at = :claimed_at,
    claim_pid = :pid, claim_start_time = :start_time, claim_boot_id = :boot_id,
    claim_machine_id = :machine_id, claim_host_name = :host_name, claim_pid_namespace = :pid_namespace
WHERE run_id = :run_id
