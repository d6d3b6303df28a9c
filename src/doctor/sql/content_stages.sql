-- Stage artifacts whose bytes are not those of their digest.
SELECT 'the artifact of stage ' || name || ' of pipeline ' || pipeline
FROM (SELECT pipeline, name, sha256, byte_size, artifact FROM stages
      UNION ALL
      SELECT pipeline, name, sha256, byte_size, artifact FROM markers)
WHERE sha256(artifact) <> sha256 OR byte_size <> length(CAST(artifact AS BLOB))
LIMIT :most;
