SELECT body FROM checkpoints WHERE sha256 = ?1;
