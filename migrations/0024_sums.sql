-- What a row was when it was written: engramd_sum over every column that is read, in the order in which
-- internal/relay/store/sqlite/column/sum.go names them. NULL: stored before there were sums, and not verified yet.
-- Sums are the database's own: nothing that several nodes agree on depends on them.
ALTER TABLE events ADD COLUMN sum INTEGER;
ALTER TABLE history ADD COLUMN sum INTEGER;
-- In a new database every row will have one: nobody has to go through it.
INSERT INTO meta(key, value) SELECT 'ready.sums', 9223372036854775807
  WHERE NOT EXISTS (SELECT 1 FROM events) AND NOT EXISTS (SELECT 1 FROM history);
