INSERT INTO store (id, store_id, created_at) VALUES (1, ?1, ?2);
