-- A journal stays active from its first moment on.
UPDATE runs SET journaled_at = coalesce(journaled_at, ?2) WHERE run_id = ?1;
