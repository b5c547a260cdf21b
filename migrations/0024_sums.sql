-- What a row was when it was written: engramd_sum over every column that is read, in the order in which
-- internal/relay/store/sqlite/column/sum.go names them. NULL: stored before there were sums, and not verified yet.
-- Sums are the database's own: nothing that several nodes agree on depends on them.
ALTER TABLE events ADD COLUMN sum INTEGER;
ALTER TABLE history ADD COLUMN sum INTEGER;
