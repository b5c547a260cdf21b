-- The relay's identity keys, their public halves: the one in use, and those that were.
--
-- until: when another took its place, NULL for the one in use. revoked_at: since when what it signed is trusted no more,
-- NULL while it is.
CREATE TABLE relay_keys (
  pubkey     BLOB PRIMARY KEY NOT NULL,
  since      INTEGER NOT NULL,
  until      INTEGER,
  revoked_at INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX relay_keys_in_use ON relay_keys(until IS NULL) WHERE until IS NULL;
