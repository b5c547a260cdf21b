-- Ids of events that a rollback took away: whoever sends one again is refused, also when quarantine has let go of the event. A
-- release, an import or a restore that brings the event back takes its id out.
CREATE TABLE rolled_back (id BLOB PRIMARY KEY NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO rolled_back SELECT id FROM quarantine AS q
  WHERE NOT EXISTS (SELECT 1 FROM events WHERE id = q.id) AND NOT EXISTS (SELECT 1 FROM history WHERE id = q.id);
