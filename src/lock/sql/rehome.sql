UPDATE locks
SET pid = :pid, start_time = :start_time, boot_id = :boot_id, machine_id = :machine_id,
    host_name = :host_name, pid_namespace = :pid_namespace
WHERE run_id = :run_id
