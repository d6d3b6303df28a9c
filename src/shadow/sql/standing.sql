SELECT projector_version, comparisons, matches, mismatches, lags, errors, told_status, refused_sequence, journal_fault,
       (SELECT sequence FROM shadow_records WHERE run_id = ?1 AND record_number = comparisons),
       (SELECT event_digest FROM shadow_records WHERE run_id = ?1 AND record_number = comparisons)
FROM shadow_evidence WHERE run_id = ?1;
