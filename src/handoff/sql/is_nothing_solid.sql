-- Whether of the latest judgments of a round nothing was solid.
SELECT nothing_solid IS NOT NULL
       AND nothing_solid = (SELECT max(attempt) FROM judgments WHERE judgments.bundle_id = ?1)
FROM rounds
WHERE bundle_id = ?1;
