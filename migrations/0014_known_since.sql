-- When the first event by a key that is still remembered arrived; NULL when others only name it. Who is known for some time
-- has a share of the relay of its own. Authors of what is stored already count as known from the beginning.
ALTER TABLE pubkeys ADD COLUMN since INTEGER;
UPDATE pubkeys SET since = 0 WHERE EXISTS (SELECT 1 FROM events INDEXED BY events_author WHERE author = num);
