-- The number of a round's latest judgments; 0 where it has none.
SELECT coalesce(max(attempt), 0) FROM judgments WHERE bundle_id = ?1;
