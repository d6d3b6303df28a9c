-- Ends the current round; a trigger ends its pending report with it.
UPDATE rounds SET superseded_at = ?1 WHERE superseded_at IS NULL;
