INSERT INTO locks (workspace, run_id, token_sha256, acquired_at,
                   pid, start_time, boot_id, machine_id, host_name, pid_namespace, last_write_at)
VALUES (:workspace, :run_id, :token_sha256, :acquired_at,
        :pid, :start_time, :boot_id, :machine_id, :host_name, :pid_namespace, :acquired_at);
