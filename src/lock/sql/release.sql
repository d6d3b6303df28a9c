DELETE FROM locks WHERE run_id = :run_id AND claim_id IS NULL
