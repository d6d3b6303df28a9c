-- Whether bytes of this digest were a snapshot of the run: a checkpoint event names them, or they are a receipt.
-- What the event names is read from its line, and the receipt is hashed: no derived column is believed.
SELECT EXISTS (SELECT 1 FROM events
               WHERE run_id = :run_id AND json_valid(line)
                 AND line ->> '$.event_type' = 'run.snapshot.checkpointed'
                 AND line ->> '$.payload.sha256' = :sha256)
    OR EXISTS (SELECT 1 FROM recoveries
               WHERE run_id = :run_id AND after_sequence > 0 AND sha256(receipt) = :sha256);
