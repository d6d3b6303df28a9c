-- When the first pending report of a round was stored, whether or not it is still the current one.
SELECT generated_at FROM pending_reports WHERE bundle_id = ?1 ORDER BY pending_number LIMIT 1;
