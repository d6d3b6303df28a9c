-- The number of the next attempt to give angles to a pending report.
SELECT coalesce(max(attempt), 0) + 1 FROM angles WHERE pending_number = ?1;
