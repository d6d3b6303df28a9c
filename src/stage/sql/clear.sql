-- A trigger takes the run's stages and markers along.
DELETE FROM pipelines WHERE name = ?1
