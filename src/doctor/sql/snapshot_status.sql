SELECT snapshot_text(body, 'status') FROM checkpoints WHERE sha256 = :sha256;
