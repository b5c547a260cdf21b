-- Authors, and the keys that p tags name, are numbered: a number costs its entry in an index one to three bytes where the
-- key costs 32. In an old database everything is written anew, in one transaction (docs/operating.md says what it takes).
CREATE TABLE pubkeys (
  num INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE
);
-- Numbers whose last mention may be gone; housekeeping looks, and forgets the key.
CREATE TABLE pubkeys_gone (
  num INTEGER PRIMARY KEY
);
-- In the order of the keys, so that the p tags below come in the order of their numbers.
INSERT INTO pubkeys(key)
  SELECT DISTINCT pubkey FROM events INDEXED BY events_author WHERE pubkey IS NOT NULL
  UNION SELECT value FROM tags WHERE name = 'p' AND typeof(value) = 'blob' ORDER BY 1;
-- What is dropped first makes room for what is built.
DROP INDEX events_author;
DROP INDEX events_address;

-- As before, but the value of a p tag that is a key is its number.
ALTER TABLE tags RENAME TO tags_by_key;
CREATE TABLE tags (
  name       TEXT NOT NULL,
  value      NOT NULL,
  created_at INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  PRIMARY KEY (name, value, created_at, seq)
) WITHOUT ROWID;
INSERT INTO tags SELECT name,
  CASE WHEN name = 'p' AND typeof(value) = 'blob' THEN (SELECT num FROM pubkeys WHERE key = value) ELSE value END,
  created_at, seq, kind FROM tags_by_key;
DROP TABLE tags_by_key;

-- author: the pubkey's number. readers: of the one p tag that nearly every gated event has, the number; none or several are
-- the 32-byte values one after the other, as before and as in history, which names keys in full.
ALTER TABLE events ADD COLUMN author INTEGER NOT NULL DEFAULT 0;
-- in ranges of events.seq:
UPDATE events SET author = coalesce((SELECT num FROM pubkeys WHERE key = pubkey), 0),
  readers = CASE WHEN length(readers) = 32 THEN (SELECT num FROM pubkeys WHERE key = readers) ELSE readers END
  WHERE seq BETWEEN ?1 AND ?2;
CREATE UNIQUE INDEX events_address ON events(kind, author, d) WHERE d IS NOT NULL;
CREATE INDEX events_author ON events(author, kind, created_at, class, expires_at);
