-- Whether the receipt that is a run's last snapshot is another one than its checkpoint gives: recovery found a run.json
-- that the journal did not know, or somebody wrote the receipt.
SELECT EXISTS (
    SELECT 1 FROM recoveries
    WHERE run_id = :run_id AND after_sequence >= :sequence
      AND NOT matches_receipt((SELECT body FROM checkpoints WHERE sha256 = :sha256), receipt));
