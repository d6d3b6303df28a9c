-- The run whose lock has this token.
SELECT run_id FROM locks WHERE token_sha256 = :token_sha256
