-- Keeps that of the latest judgments of a round nothing was solid. A later attempt at judging takes it back.
UPDATE rounds SET nothing_solid = (SELECT max(attempt) FROM judgments WHERE judgments.bundle_id = ?1)
WHERE bundle_id = ?1;
