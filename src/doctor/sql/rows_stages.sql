-- Rows of pipelines, stages and markers that contradict each other. No artifact is read.
SELECT 'pipeline ' || name || ': its name is not valid'
FROM pipelines
WHERE NOT is_pipeline_name(name)
UNION ALL
SELECT 'pipeline ' || name || ': run_date is not a day, YYYY-MM-DD'
FROM pipelines
WHERE date(run_date, '+0 days') IS NOT run_date
UNION ALL
SELECT 'pipeline ' || name || ': schema_version ' || schema_version || ' is not supported'
FROM pipelines
WHERE NOT is_stage_version(schema_version)
UNION ALL
SELECT 'stage ' || name || ' is of pipeline ' || pipeline || ', which has no run'
FROM (SELECT pipeline, name FROM stages UNION ALL SELECT pipeline, name FROM markers) AS saved
WHERE NOT EXISTS (SELECT 1 FROM pipelines WHERE pipelines.name = saved.pipeline)
UNION ALL
SELECT 'pipeline ' || pipeline || ': ' || name || ' is not a valid stage name'
FROM (SELECT pipeline, name FROM stages UNION ALL SELECT pipeline, name FROM markers)
WHERE NOT is_stage_name(name)
UNION ALL
SELECT 'pipeline ' || pipeline || ': ' || name || ' is both a stage and a marker'
FROM stages JOIN markers USING (pipeline, name)
UNION ALL
SELECT 'the stages of pipeline ' || pipeline || ' are not at positions 1, 2, and so on'
FROM stages
GROUP BY pipeline
HAVING min(position) <> 1 OR max(position) <> count(*)
LIMIT :most;
