SELECT EXISTS (SELECT 1 FROM locks WHERE claim_id = :claim_id)
