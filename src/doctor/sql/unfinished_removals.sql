-- Runs on the list of removed ones that are still there, and whether they are whole: a removal is one transaction, so somebody
-- began one by hand.
SELECT run_id,
       last_sequence IS coalesce((SELECT max(sequence) FROM events WHERE events.run_id = removals.run_id), 0)
       AND last_sequence IS (SELECT count(*) FROM events WHERE events.run_id = removals.run_id)
FROM removals
WHERE EXISTS (SELECT 1 FROM runs WHERE runs.run_id = removals.run_id)
ORDER BY run_id;
