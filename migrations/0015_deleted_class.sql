-- The gate class that the event had when it was deleted; NULL when it was not here, and for what was deleted before.
ALTER TABLE deleted_ids ADD COLUMN class INTEGER;
