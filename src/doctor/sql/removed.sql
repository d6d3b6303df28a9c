-- The head that a run had when retention removed it.
SELECT last_sequence, last_digest FROM removals WHERE run_id = :run_id;
