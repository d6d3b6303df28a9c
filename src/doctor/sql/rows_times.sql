-- Columns that hold a time, and rows that hold something else there.
SELECT count(*) || ' rows of ' || place || ' hold no ISO 8601 time'
FROM (
      SELECT 'store.created_at' AS place FROM store WHERE NOT is_time(created_at)
      UNION ALL SELECT 'runs.created_at' AS place FROM runs WHERE NOT is_time(created_at)
      UNION ALL SELECT 'runs.journaled_at' AS place FROM runs WHERE NOT is_time(journaled_at)
      UNION ALL SELECT 'removals.removed_at' AS place FROM removals WHERE NOT is_time(removed_at)
      UNION ALL SELECT 'rounds.generated_at' AS place FROM rounds WHERE NOT is_time(generated_at)
      UNION ALL SELECT 'rounds.stored_at' AS place FROM rounds WHERE NOT is_time(stored_at)
      UNION ALL SELECT 'rounds.expired_at' AS place FROM rounds WHERE NOT is_time(expired_at)
      UNION ALL SELECT 'rounds.superseded_at' AS place FROM rounds WHERE NOT is_time(superseded_at)
      UNION ALL SELECT 'judgments.judged_at' AS place FROM judgments WHERE NOT is_time(judged_at)
      UNION ALL SELECT 'pending_reports.generated_at' AS place FROM pending_reports WHERE NOT is_time(generated_at)
      UNION ALL SELECT 'pending_reports.expired_at' AS place FROM pending_reports WHERE NOT is_time(expired_at)
      UNION ALL SELECT 'pending_reports.finalized_at' AS place FROM pending_reports WHERE NOT is_time(finalized_at)
      UNION ALL SELECT 'pending_reports.superseded_at' AS place FROM pending_reports WHERE NOT is_time(superseded_at)
      UNION ALL SELECT 'angles.given_at' AS place FROM angles WHERE NOT is_time(given_at)
      UNION ALL SELECT 'queue.covered_at' AS place FROM queue WHERE NOT is_time(covered_at)
      UNION ALL SELECT 'queue_counts.surfaced_at' AS place FROM queue_counts WHERE NOT is_time(surfaced_at)
      UNION ALL SELECT 'pipelines.begun_at' AS place FROM pipelines WHERE NOT is_time(begun_at)
      UNION ALL SELECT 'stages.saved_at' AS place FROM stages WHERE NOT is_time(saved_at)
      UNION ALL SELECT 'markers.saved_at' AS place FROM markers WHERE NOT is_time(saved_at)
      UNION ALL SELECT 'imports.imported_at' AS place FROM imports WHERE NOT is_time(imported_at)
      UNION ALL SELECT 'quarantine.kept_at' AS place FROM quarantine WHERE NOT is_time(kept_at)
      UNION ALL SELECT 'shadow_records.recorded_at' AS place FROM shadow_records WHERE NOT is_time(recorded_at)
)
GROUP BY place
LIMIT :most;
