-- Whether a run's latest checkpoint, or a receipt after it, says that the run has ended.
WITH latest AS (
    SELECT sequence, checkpoint_sha256 FROM events
    WHERE run_id = :run_id AND checkpoint_sha256 IS NOT NULL
    ORDER BY sequence DESC
    LIMIT 1
)
SELECT EXISTS (SELECT 1 FROM recoveries
               WHERE run_id = :run_id AND after_sequence >= (SELECT sequence FROM latest)
                 AND snapshot_is_terminal(receipt))
    OR EXISTS (SELECT 1 FROM checkpoints
               WHERE sha256 = (SELECT checkpoint_sha256 FROM latest) AND snapshot_is_terminal(body));
