INSERT INTO shadow_evidence (run_id, projector_version, comparisons, matches, mismatches, lags, errors,
                             told_status, refused_sequence, journal_fault)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
