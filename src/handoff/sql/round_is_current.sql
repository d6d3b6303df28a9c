-- Whether a round that is known is the current one; no row for an unknown one.
SELECT superseded_at IS NULL FROM rounds WHERE bundle_id = ?1;
