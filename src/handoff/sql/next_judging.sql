-- The number of the next attempt to judge a round.
SELECT coalesce(max(attempt), 0) + 1 FROM judgments WHERE bundle_id = ?1;
