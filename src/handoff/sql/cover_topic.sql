UPDATE queue SET covered_at = coalesce(covered_at, ?2) WHERE normalized_name = ?1;
