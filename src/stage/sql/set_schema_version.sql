UPDATE pipelines SET schema_version = ?2 WHERE name = ?1
