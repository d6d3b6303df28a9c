-- Whether an imported journal ends in a partial line: one that was cut off behind the last line that is there. One that the
-- run has gone on after is history.
SELECT EXISTS (SELECT 1 FROM quarantine
               WHERE run_id = :run_id AND at_end = 1
                 AND whole_lines = (SELECT count(*) FROM events WHERE run_id = :run_id));
