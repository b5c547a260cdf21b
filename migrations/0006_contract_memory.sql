-- What the contract memory API needs beside contract_states: who came first, what was agreed that no event says, and an index
-- of the threads, in which private entries and those the relay has not taken yet have their place.

-- n: the order in which pairs appeared; at: when. shown: 1, or 0 for an open addressed to its author that somebody has
-- accepted (the pair stands for it), 2 for a pair that accepted it after another had. api: 1 when terms were agreed
-- through the API. deadline, arbitrator: those terms, NULL for none. due: when to look at the deadline (again), NULL for never.
ALTER TABLE contract_states ADD COLUMN n INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contract_states ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contract_states ADD COLUMN shown INTEGER NOT NULL DEFAULT 1;
ALTER TABLE contract_states ADD COLUMN api INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contract_states ADD COLUMN deadline INTEGER;
ALTER TABLE contract_states ADD COLUMN arbitrator BLOB;
ALTER TABLE contract_states ADD COLUMN due INTEGER;
WITH numbered AS (SELECT contract AS c, a AS x, b AS y, row_number() OVER (ORDER BY created_at, contract, a, b) AS k FROM contract_states)
  UPDATE contract_states SET n = (SELECT k FROM numbered WHERE c = contract AND x = a AND y = b), at = created_at;
UPDATE contract_states AS s SET shown = 2 WHERE a <> b AND EXISTS (SELECT 1 FROM contract_states AS o
  WHERE o.contract = s.contract AND o.a = s.poster AND o.b = s.poster)
  AND EXISTS (SELECT 1 FROM contract_states AS f WHERE f.contract = s.contract AND f.poster = s.poster AND f.a <> f.b AND f.n < s.n);
UPDATE contract_states AS s SET shown = 0 WHERE a = b AND EXISTS (SELECT 1 FROM contract_states AS f
  WHERE f.contract = s.contract AND f.poster = s.poster AND f.a <> f.b);
CREATE UNIQUE INDEX contract_states_n ON contract_states(n);
-- What a contract id means to everybody, and to a key: what has terms before what has none, then first come.
CREATE INDEX contract_states_first ON contract_states(contract, api DESC, shown, n);
CREATE INDEX contract_states_first_a ON contract_states(contract, a, api DESC, shown, n);
CREATE INDEX contract_states_first_b ON contract_states(contract, b, api DESC, shown, n);
-- The contracts of a key, newest first; shown, status and poster let them be counted in the index alone.
CREATE INDEX contract_states_of_a ON contract_states(a, n, shown, status, poster);
CREATE INDEX contract_states_of_b ON contract_states(b, n, shown, status, poster);
CREATE INDEX contract_states_arbitrator ON contract_states(arbitrator, n, shown, status) WHERE arbitrator IS NOT NULL;
CREATE INDEX contract_states_due ON contract_states(due) WHERE due IS NOT NULL;

-- Moves that no party made: an audit trail.
CREATE TABLE contract_decisions (
  n        INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  contract TEXT NOT NULL,
  a        BLOB NOT NULL,
  b        BLOB NOT NULL,
  was      TEXT NOT NULL,
  status   TEXT NOT NULL,
  by       TEXT NOT NULL, -- 'operator', 'arbitrator' or 'deadline'
  key      BLOB,          -- whose decision; NULL for the deadline
  note     TEXT NOT NULL
);
CREATE INDEX contract_decisions_of ON contract_decisions(contract, a, b);

-- The threads. other: the counterparty, the author himself while none is named. form: 0 shared, 1 shared and encrypted for
-- the parties, 2 private, for its author alone. id: the event's, or the number in entry of a private one, which is no event.
-- seq: the event's in events or history; NULL for a private entry and for an event the relay has not taken. data: a private
-- entry's sealed text, or the JSON of an event not taken; else NULL.
CREATE TABLE contract_entries (
  contract   TEXT NOT NULL,
  author     BLOB NOT NULL,
  other      BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  id         BLOB NOT NULL,
  form       INTEGER NOT NULL,
  type       TEXT NOT NULL,
  entry      TEXT NOT NULL,
  arrived_at INTEGER NOT NULL,
  expires_at INTEGER,
  seq        INTEGER,
  data       BLOB,
  PRIMARY KEY (contract, author, other, created_at, id)
) WITHOUT ROWID;
CREATE INDEX contract_entries_entry ON contract_entries(contract, entry, author, other);
CREATE UNIQUE INDEX contract_entries_seq ON contract_entries(seq) WHERE seq IS NOT NULL;
CREATE INDEX contract_entries_waiting ON contract_entries(arrived_at, created_at, id) WHERE seq IS NULL AND form < 2;
CREATE INDEX contract_entries_private ON contract_entries(author, contract, form) WHERE seq IS NULL;

WITH entries AS (
  SELECT seq, created_at, class, d, expires_at, arrived_at, CAST(json AS TEXT) AS doc FROM events WHERE kind = 30090
  UNION ALL SELECT seq, created_at, class, d, expires_at, arrived_at, CAST(json AS TEXT) FROM history WHERE kind = 30090
), named AS (
  SELECT *, (SELECT value->>1 FROM json_each(doc, '$.tags') WHERE value->>0 = 't' LIMIT 1) AS type,
    (SELECT value->>1 FROM json_each(doc, '$.tags') WHERE value->>0 = 'p' LIMIT 1) AS p,
    (SELECT value->>1 FROM json_each(doc, '$.tags') WHERE value->>0 = 'agentry:entry' LIMIT 1) AS entry FROM entries
)
INSERT INTO contract_entries(contract, author, other, created_at, id, form, type, entry, arrived_at, expires_at, seq)
  SELECT CASE typeof(d) WHEN 'blob' THEN lower(hex(d)) ELSE d END, unhex(doc->>'pubkey'), unhex(p), created_at, unhex(doc->>'id'),
    class = 3, type,
    CASE WHEN entry GLOB 'mem_[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'
      THEN entry ELSE 'mem_' || substr(doc->>'id', 1, 12) END,
    arrived_at, expires_at, seq
  FROM named WHERE type IS NOT NULL AND length(unhex(p)) = 32;
