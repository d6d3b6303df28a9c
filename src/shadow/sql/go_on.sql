UPDATE shadow_evidence
SET projector_version = ?2, comparisons = ?3, matches = ?4, mismatches = ?5, lags = ?6, errors = ?7,
    told_status = ?8, refused_sequence = ?9, journal_fault = ?10
WHERE run_id = ?1;
