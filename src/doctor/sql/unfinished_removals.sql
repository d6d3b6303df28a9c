-- Runs on the list of removed ones that are still there: a removal is one transaction, so somebody began one by hand.
SELECT run_id FROM removals WHERE EXISTS (SELECT 1 FROM runs WHERE runs.run_id = removals.run_id) ORDER BY run_id;
