-- Indexes begin with what a scope allows: whoever may not read a row does not pass over it either, so that the time of an
-- answer tells nothing of what it hides. Everything is indexed anew, in one transaction (docs/operating.md says what it takes).

-- reader: the number of the one key that a gated event names by p; 0 for none, several, and what is open.
ALTER TABLE events ADD COLUMN reader INTEGER GENERATED ALWAYS AS (CASE typeof(readers) WHEN 'integer' THEN readers ELSE 0 END) VIRTUAL;
DROP INDEX events_author;
DROP INDEX events_kind;
DROP INDEX events_time;
DROP INDEX events_address;

-- As before, by class. pp: the p tags of gated events that have several keys once more, for those are not found by reader.
ALTER TABLE tags RENAME TO tags_without_class;
CREATE TABLE tags (
  name       TEXT NOT NULL,
  value      NOT NULL,
  class      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  PRIMARY KEY (name, value, class, created_at, seq)
) WITHOUT ROWID;
-- Looked up in the events themselves, which are large, it would take a second for some thousand tags.
CREATE TEMP TABLE gated(seq INTEGER PRIMARY KEY, class INTEGER NOT NULL, shared INTEGER NOT NULL);
INSERT INTO temp.gated SELECT seq, class, typeof(readers) = 'blob' FROM events NOT INDEXED WHERE class <> 0 ORDER BY seq;
INSERT INTO tags SELECT t.name, t.value, coalesce(g.class, 0), t.created_at, t.seq, t.kind
  FROM tags_without_class AS t LEFT JOIN temp.gated AS g ON g.seq = t.seq;
DROP TABLE tags_without_class;
INSERT INTO tags SELECT 'pp', t.value, t.class, t.created_at, t.seq, t.kind FROM tags AS t JOIN temp.gated AS g ON g.seq = t.seq
  WHERE t.name = 'p' AND typeof(t.value) = 'integer' AND g.shared;
DROP TABLE temp.gated;

-- No address is there twice: whoever writes sees to it, and engramd check.
CREATE INDEX events_address ON events(kind, author, d, class, reader) WHERE d IS NOT NULL;
CREATE INDEX events_author ON events(author, class, reader, kind, created_at, expires_at);
CREATE INDEX events_kind ON events(kind, class, created_at, expires_at);
CREATE INDEX events_time ON events(created_at, expires_at) WHERE class = 0;

-- reader: the first bytes of the one key that a version names by p; empty for none and several.
ALTER TABLE history ADD COLUMN reader BLOB GENERATED ALWAYS AS (CASE length(readers) WHEN 32 THEN substr(readers, 1, 8) ELSE x'' END) VIRTUAL;
DROP INDEX history_author;
CREATE INDEX history_author ON history(pubkey, kind, class, reader, created_at);
DROP INDEX history_contract;
CREATE INDEX history_contract ON history(kind, pubkey, d, reader) WHERE kind IN (30090, 30091);
