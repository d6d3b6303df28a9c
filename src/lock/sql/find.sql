-- The lock that this run holds, else this workspace's. Either parameter may be null.
SELECT workspace, run_id, token_sha256, acquired_at,
       pid, start_time, boot_id, machine_id, host_name, pid_namespace,
       lease_seconds, last_write_at,
       claim_id, claimed_at,
       claim_pid, claim_start_time, claim_boot_id, claim_machine_id, claim_host_name, claim_pid_namespace
FROM locks
WHERE run_id = :run_id OR workspace = :workspace
ORDER BY run_id IS :run_id DESC
LIMIT 1
