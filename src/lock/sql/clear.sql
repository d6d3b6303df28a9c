-- A dead lock of a run that has ended: whoever claimed it is dead too.
DELETE FROM locks WHERE run_id = :run_id
