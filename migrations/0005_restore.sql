-- Events of a snapshot on their way in: nothing reads them until they are switched in, in one transaction. Only the process
-- that staged them uses them; they are swept when the database is opened.
CREATE TABLE staged (
  restore    INTEGER NOT NULL,
  part       INTEGER NOT NULL, -- in the order in which they are applied
  created_at INTEGER NOT NULL,
  id         BLOB NOT NULL,
  kind       INTEGER NOT NULL,
  pubkey     BLOB NOT NULL,
  d,
  json       BLOB NOT NULL,
  PRIMARY KEY (restore, part, created_at, id)
) WITHOUT ROWID;
CREATE INDEX staged_address ON staged(restore, kind, pubkey, d);

-- What a rollback took away. No query shows it; the operator can bring it back. head: whether it was one.
CREATE TABLE quarantine (
  num      INTEGER PRIMARY KEY,
  restore  TEXT NOT NULL,
  moved_at INTEGER NOT NULL,
  head     INTEGER NOT NULL,
  id       BLOB NOT NULL,
  pubkey   BLOB NOT NULL,
  kind     INTEGER NOT NULL,
  d        NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  json     BLOB NOT NULL
);
CREATE INDEX quarantine_restore ON quarantine(restore);
CREATE INDEX quarantine_id ON quarantine(id);
CREATE INDEX quarantine_address ON quarantine(pubkey, kind, d);
