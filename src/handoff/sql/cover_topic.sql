UPDATE queue SET covered_at = ?2 WHERE normalized_name = ?1 AND covered_at IS NULL;
