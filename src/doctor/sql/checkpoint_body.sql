-- The rule that the stored bytes of a checkpoint break. No row: they are not there.
--
-- The size is that of the bytes, not the one beside them, and comes before anything reads them.
SELECT CASE
           WHEN length(CAST(body AS BLOB)) > :max_bytes THEN 'bound exceeded'
           WHEN length(CAST(body AS BLOB)) <> (SELECT line ->> '$.payload.byte_size' FROM events
                                               WHERE run_id = :run_id AND sequence = :sequence)
               THEN 'its bytes have another number than the event says'
           WHEN byte_size <> length(CAST(body AS BLOB)) THEN 'its byte_size is not the number of its bytes'
           WHEN sha256(body) <> :sha256 THEN 'its bytes have another digest (collision-mismatch)'
           ELSE snapshot_fault(body)
       END
FROM checkpoints
WHERE checkpoints.sha256 = :sha256;
