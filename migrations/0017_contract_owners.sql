-- Whose contract an id means, and what every state said, so that states may come in any order.

-- The owner of an id outlives his events. salt: what shows that the id commits to him (NIP-TEMP); NULL where he was only the
-- first here to open it. since: when the store heard of it.
CREATE TABLE contract_owners (
  contract TEXT PRIMARY KEY NOT NULL,
  owner    BLOB NOT NULL,
  salt     BLOB,
  since    INTEGER NOT NULL
) WITHOUT ROWID;

-- What the 30091 said, each one the store has taken, whatever became of the event. a, b: the pair, the lower key first. step:
-- its place among those that led to the pair's state, NULL for one that does not follow (it came by import or restore).
-- live: 1 when it was judged as it arrived, so that its place is fixed. place: the number of its arrival then, else created_at.
CREATE TABLE contract_steps (
  contract   TEXT NOT NULL,
  a          BLOB NOT NULL,
  b          BLOB NOT NULL,
  id         BLOB NOT NULL,
  author     BLOB NOT NULL,
  other      BLOB NOT NULL,
  status     TEXT NOT NULL,
  previous   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  live       INTEGER NOT NULL,
  place      INTEGER NOT NULL,
  step       INTEGER,
  PRIMARY KEY (contract, a, b, id)
) WITHOUT ROWID;

-- unproven: 1 for a state that was imported without the open that it begins with.
ALTER TABLE contract_states ADD COLUMN unproven INTEGER NOT NULL DEFAULT 0;

-- What is there stays as it is: who came first owns, and all states count as adopted in the order of their times.
INSERT INTO contract_owners(contract, owner, since) SELECT contract, poster, at FROM contract_states AS s
  WHERE n = (SELECT min(n) FROM contract_states WHERE contract = s.contract);
WITH states AS (
  SELECT seq, created_at, d, CAST(json AS TEXT) AS doc FROM events WHERE kind = 30091
  UNION ALL SELECT seq, created_at, d, CAST(json AS TEXT) FROM history WHERE kind = 30091
), named AS (
  SELECT seq, created_at, CASE typeof(d) WHEN 'blob' THEN lower(hex(d)) ELSE d END AS contract, unhex(doc->>'id') AS id,
    unhex(doc->>'pubkey') AS author, doc->>'content' AS content,
    unhex((SELECT value->>1 FROM json_each(doc, '$.tags') WHERE value->>0 = 'p' LIMIT 1)) AS other FROM states
), said AS (
  SELECT *, content->>'status' AS status, coalesce(content->>'previous_status', '') AS previous
    FROM named WHERE length(other) = 32 AND json_valid(content)
)
INSERT OR IGNORE INTO contract_steps
  SELECT contract, min(author, other), max(author, other), id, author, other, status, previous, created_at, 1, seq,
    row_number() OVER (PARTITION BY contract, min(author, other), max(author, other) ORDER BY created_at, seq)
  FROM said WHERE typeof(status) = 'text' AND typeof(previous) = 'text';

-- The last state that an author signed of a contract, and who took an offer up first.
CREATE INDEX contract_steps_last ON contract_steps(contract, author, created_at);
CREATE INDEX contract_steps_accepted ON contract_steps(contract, other, live DESC, place, id)
  WHERE status = 'accepted' AND previous = 'open' AND step IS NOT NULL;
-- What does not follow, to be tried again.
CREATE INDEX contract_steps_astray ON contract_steps(contract, a, b) WHERE step IS NULL;

-- An id means its owner's contract; terms agreed through the API move nobody to the front.
DROP INDEX contract_states_first;
DROP INDEX contract_states_first_a;
DROP INDEX contract_states_first_b;
CREATE INDEX contract_states_first ON contract_states(contract, shown, n);
CREATE INDEX contract_states_first_a ON contract_states(contract, a, shown, n);
CREATE INDEX contract_states_first_b ON contract_states(contract, b, shown, n);
CREATE INDEX contract_states_poster ON contract_states(contract, poster, shown, n);
