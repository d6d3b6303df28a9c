DELETE FROM locks WHERE claim_id = :claim_id
