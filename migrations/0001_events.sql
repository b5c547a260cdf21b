-- The first schema of engramd.
--
-- Keys: event ids and pubkeys are 32-byte BLOBs. A tag value or d value of exactly 64 lower-case hex digits is
-- stored as its 32-byte BLOB, everything else as TEXT; the two can never be equal in SQLite, so this is injective.
-- seq: given by the writer, ever growing, one space for events and history; it is also the commit order that
-- readers use as a high-water mark.

-- What costs disk twice is left out: id and pubkey lie at fixed places in the JSON, so the columns are computed from it
-- and stored in the indexes alone. Indexes on time ascend, although all reading is newest first: new entries then come
-- last and leave full pages behind, where a descending index leaves every page half empty.

-- Heads and regular events. d: NULL for regular kinds, '' for replaceable ones, else the first d tag's value.
-- readers: the 32-byte values of all p tags one after the other, gated classes only. json: what the relay sends.
CREATE TABLE events (
  seq        INTEGER PRIMARY KEY,
  id         BLOB GENERATED ALWAYS AS (unhex(substr(json, 8, 64))) VIRTUAL NOT NULL,
  pubkey     BLOB GENERATED ALWAYS AS (unhex(substr(json, 84, 64))) VIRTUAL NOT NULL,
  kind       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  class      INTEGER NOT NULL,
  d,
  readers    BLOB,
  expires_at INTEGER,
  arrived_at INTEGER NOT NULL,
  json       BLOB NOT NULL
);
CREATE UNIQUE INDEX events_id ON events(id);
CREATE UNIQUE INDEX events_address ON events(kind, pubkey, d) WHERE d IS NOT NULL;
-- class and expires_at (two bytes for most) let the gate and expiry pass over rows, and count them, in the index alone.
CREATE INDEX events_author ON events(pubkey, kind, created_at, class, expires_at);
CREATE INDEX events_kind ON events(kind, created_at, class, expires_at);
-- By time alone one reads what may be everybody's (0 open, 2 plain contract memory); one's own is found by its keys.
CREATE INDEX events_time ON events(created_at, class, expires_at) WHERE class IN (0,2);
CREATE INDEX events_expiry ON events(expires_at) WHERE expires_at IS NOT NULL;

-- Single-letter tags of events, first value; one row per distinct (name, value).
CREATE TABLE tags (
  name       TEXT NOT NULL,
  value      NOT NULL,
  created_at INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  PRIMARY KEY (name, value, created_at, seq)
) WITHOUT ROWID;

-- Superseded versions of gated replaceable and addressable kinds. Never a head, never in REQ, COUNT or search.
CREATE TABLE history (
  seq           INTEGER PRIMARY KEY,
  id            BLOB GENERATED ALWAYS AS (unhex(substr(json, 8, 64))) VIRTUAL NOT NULL,
  pubkey        BLOB GENERATED ALWAYS AS (unhex(substr(json, 84, 64))) VIRTUAL NOT NULL,
  kind          INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  class         INTEGER NOT NULL,
  d             NOT NULL,
  readers       BLOB,
  expires_at    INTEGER,
  arrived_at    INTEGER NOT NULL,
  superseded_at INTEGER NOT NULL,
  json          BLOB NOT NULL
);
CREATE UNIQUE INDEX history_id ON history(id);
CREATE INDEX history_address ON history(kind, pubkey, d, created_at);
CREATE INDEX history_author ON history(pubkey, kind, created_at);
CREATE INDEX history_age ON history(superseded_at) WHERE kind NOT IN (30090, 30091);
CREATE INDEX history_expiry ON history(expires_at) WHERE expires_at IS NOT NULL;

-- NIP-09. An id blocks only events of the pubkey that asked; an address is blocked up to and including "until".
CREATE TABLE deleted_ids (
  id     BLOB NOT NULL,
  pubkey BLOB NOT NULL,
  PRIMARY KEY (id, pubkey)
) WITHOUT ROWID;
CREATE TABLE deleted_addresses (
  kind   INTEGER NOT NULL,
  pubkey BLOB NOT NULL,
  d      NOT NULL,
  until  INTEGER NOT NULL,
  PRIMARY KEY (kind, pubkey, d)
) WITHOUT ROWID;

-- NIP-62. Nothing of this pubkey up to and including "until", nor a gift wrap to it, may come back. request: seq of the
-- request while its removals are not complete.
CREATE TABLE vanished (
  pubkey  BLOB PRIMARY KEY NOT NULL,
  until   INTEGER NOT NULL,
  request INTEGER
) WITHOUT ROWID;

-- NIP-TEMP. The current state per contract and pair of pubkeys, a <= b.
CREATE TABLE contract_states (
  contract   TEXT NOT NULL,
  a          BLOB NOT NULL,
  b          BLOB NOT NULL,
  poster     BLOB NOT NULL,
  status     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  event      BLOB NOT NULL,
  PRIMARY KEY (contract, a, b)
) WITHOUT ROWID;
CREATE INDEX contract_states_final ON contract_states(created_at) WHERE status IN ('completed', 'cancelled', 'expired');

-- What the store knows of itself: gate fingerprint, how far the full-text index is. The index, the FTS5 tables
-- search(content) and search_entries(content) with rowid = seq, is created at open when SQLite has the module.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY NOT NULL,
  value NOT NULL
) WITHOUT ROWID;
