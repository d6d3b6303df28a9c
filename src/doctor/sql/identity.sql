SELECT count(*), max(store_id),
       coalesce(min(id = 1 AND length(store_id) = 32 AND store_id NOT GLOB '*[^0-9a-f]*'), 0)
FROM store;
