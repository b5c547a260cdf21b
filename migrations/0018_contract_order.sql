-- Order is arrival: what comes into a thread gets the next number, which is never given again. What an author takes back is
-- withdrawn and stays; what has to go leaves a gap.

-- Which pairs of keys, a <= b, count together: what a poster wrote to himself, and he and the worker who took the offer.
-- Every other pair counts for itself, so that no number tells it of the others.
CREATE TABLE contract_threads (
  contract TEXT NOT NULL,
  a        BLOB NOT NULL,
  b        BLOB NOT NULL,
  thread   INTEGER NOT NULL,
  PRIMARY KEY (contract, a, b)
) WITHOUT ROWID;
CREATE INDEX contract_threads_of ON contract_threads(thread);
-- last: the number given last.
CREATE TABLE contract_numbers (
  thread INTEGER PRIMARY KEY,
  last   INTEGER NOT NULL
);
-- The states of a thread. author, other, status, previous, created_at: as the event says. seq: the event's in events or history.
-- withdrawn: when its author took it back, 0 for never; request: the id of the kind 5, NULL where it is not known.
CREATE TABLE contract_moves (
  thread     INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  contract   TEXT NOT NULL,
  author     BLOB NOT NULL,
  other      BLOB NOT NULL,
  id         BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  arrived_at INTEGER NOT NULL,
  status     TEXT NOT NULL,
  previous   TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  withdrawn  INTEGER NOT NULL DEFAULT 0,
  request    BLOB,
  PRIMARY KEY (thread, n)
) WITHOUT ROWID;
CREATE UNIQUE INDEX contract_moves_seq ON contract_moves(seq);
-- What is gone for good, without keys and ids. type: the entry's, or 'state'. role: of its author, '' where it was not known.
-- status, previous, created_at and parties (HMAC-SHA256 of the lower and the higher key, under meta 'parties') of states alone.
CREATE TABLE contract_gaps (
  thread     INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  arrived_at INTEGER NOT NULL,
  type       TEXT NOT NULL,
  role       TEXT NOT NULL,
  status     TEXT,
  previous   TEXT,
  created_at INTEGER,
  parties    BLOB,
  PRIMARY KEY (thread, n)
) WITHOUT ROWID;
INSERT INTO meta(key, value) VALUES ('parties', randomblob(32));

-- The request that a deletion was asked for by: what comes later is withdrawn by it.
ALTER TABLE deleted_ids ADD COLUMN request BLOB;
ALTER TABLE deleted_addresses ADD COLUMN request BLOB;

-- Contract memory does not expire: a tag that says so has no effect.
UPDATE events SET expires_at = NULL WHERE kind IN (30090, 30091) AND expires_at IS NOT NULL;
UPDATE history SET expires_at = NULL WHERE kind IN (30090, 30091) AND expires_at IS NOT NULL;
CREATE INDEX history_contract ON history(kind, pubkey, d) WHERE kind IN (30090, 30091);
DROP INDEX contract_entries_expiring;
ALTER TABLE contract_entries DROP COLUMN expires_at;

-- n: its number; of a private entry, the number after which it came. k: which of its author's private entries it is, 0 of others.
ALTER TABLE contract_entries ADD COLUMN n INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contract_entries ADD COLUMN k INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contract_entries ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contract_entries ADD COLUMN request BLOB;

CREATE TEMP TABLE moved AS
  WITH states AS (
    SELECT seq, d, arrived_at, created_at, CAST(json AS TEXT) AS doc FROM events WHERE kind = 30091
    UNION ALL SELECT seq, d, arrived_at, created_at, CAST(json AS TEXT) FROM history WHERE kind = 30091
  ), said AS (
    SELECT *, CASE WHEN json_valid(doc->>'content') THEN doc->>'content' ELSE '{}' END AS content,
      (SELECT value->>1 FROM json_each(doc, '$.tags') WHERE value->>0 = 'p' LIMIT 1) AS p FROM states
  )
  SELECT CASE typeof(d) WHEN 'blob' THEN lower(hex(d)) ELSE d END AS contract, unhex(doc->>'pubkey') AS author, unhex(p) AS other,
    unhex(doc->>'id') AS id, created_at, arrived_at, coalesce(content->>'status', '') AS status,
    coalesce(content->>'previous_status', '') AS previous, seq
  FROM said WHERE length(unhex(p)) = 32;
CREATE TEMP TABLE pairs AS
  SELECT contract, min(author, other) AS a, max(author, other) AS b FROM contract_entries
  UNION SELECT contract, min(author, other), max(author, other) FROM moved
  UNION SELECT contract, a, b FROM contract_states;
-- Who took an offer stands where the offer stood.
CREATE TEMP TABLE heirs AS
  SELECT contract, a, b, poster, min(n) FROM contract_states WHERE a <> b AND shown = 1 GROUP BY contract, poster;
INSERT INTO contract_threads(contract, a, b, thread)
  SELECT contract, a, b, row_number() OVER (ORDER BY contract, a, b) FROM pairs;
CREATE UNIQUE INDEX temp.heirs_poster ON heirs(contract, poster);
UPDATE contract_threads AS t SET thread = coalesce((SELECT p.thread FROM heirs AS h
    JOIN contract_threads AS p ON p.contract = h.contract AND p.a = h.a AND p.b = h.b
    WHERE h.contract = t.contract AND h.poster = t.a), thread) WHERE a = b;

CREATE TEMP TABLE arrived AS
  SELECT t.thread AS thread, e.contract AS contract, e.author AS author, e.other AS other, e.created_at AS created_at, e.id AS id,
      e.form = 2 AS private, e.arrived_at AS arrived_at, e.seq AS seq, 0 AS move,
      0 AS n, 0 AS k
    FROM contract_entries AS e JOIN contract_threads AS t
      ON t.contract = e.contract AND t.a = min(e.author, e.other) AND t.b = max(e.author, e.other)
  UNION ALL SELECT t.thread, m.contract, m.author, m.other, m.created_at, m.id, 0, m.arrived_at, m.seq, 1, 0, 0
    FROM moved AS m JOIN contract_threads AS t
      ON t.contract = m.contract AND t.a = min(m.author, m.other) AND t.b = max(m.author, m.other);
CREATE TEMP TABLE counted AS
  SELECT contract, author, other, created_at, id, move, thread,
    sum(1 - private) OVER (PARTITION BY thread ORDER BY arrived_at, coalesce(seq, 9223372036854775807), created_at, id
      ROWS UNBOUNDED PRECEDING) AS n,
    CASE private WHEN 1 THEN sum(private) OVER (PARTITION BY contract, author ORDER BY arrived_at, created_at, id
      ROWS UNBOUNDED PRECEDING) ELSE 0 END AS k
  FROM arrived;
CREATE UNIQUE INDEX temp.counted_of ON counted(move, contract, author, other, created_at, id);
-- Without it the last number of each thread is looked for among all entries.
CREATE INDEX temp.counted_thread ON counted(thread, n);
UPDATE contract_entries AS e SET (n, k) = (SELECT c.n, c.k FROM counted AS c WHERE c.move = 0 AND c.contract = e.contract
  AND c.author = e.author AND c.other = e.other AND c.created_at = e.created_at AND c.id = e.id);
INSERT INTO contract_moves(thread, n, contract, author, other, id, created_at, arrived_at, status, previous, seq)
  SELECT c.thread, c.n, m.contract, m.author, m.other, m.id, m.created_at, m.arrived_at, m.status, m.previous, m.seq
  FROM moved AS m JOIN counted AS c ON c.move = 1 AND c.contract = m.contract AND c.author = m.author AND c.other = m.other
    AND c.created_at = m.created_at AND c.id = m.id;
INSERT INTO contract_numbers(thread, last)
  SELECT t.thread, coalesce((SELECT max(n) FROM counted AS c WHERE c.thread = t.thread), 0) FROM contract_threads AS t GROUP BY t.thread;
DROP TABLE temp.moved;
DROP TABLE temp.pairs;
DROP TABLE temp.heirs;
DROP TABLE temp.arrived;
DROP TABLE temp.counted;
DROP INDEX contract_entries_private;
CREATE INDEX contract_entries_private ON contract_entries(author, contract, form, k) WHERE seq IS NULL;
DROP INDEX contract_entries_waiting;
CREATE INDEX contract_entries_waiting ON contract_entries(arrived_at, n) WHERE seq IS NULL AND form < 2;
CREATE INDEX contract_entries_order ON contract_entries(contract, author, other, n, k, id, form, withdrawn, type);

-- The counters tell what is withdrawn from what is not, for not everybody sees it.
DROP TRIGGER contract_entries_more;
DROP TRIGGER contract_entries_fewer;
DROP TRIGGER contract_entries_taken;
DROP TABLE contract_counts;
CREATE TABLE contract_counts (
  contract  TEXT NOT NULL,
  author    BLOB NOT NULL,
  other     BLOB NOT NULL,
  form      INTEGER NOT NULL,
  type      TEXT NOT NULL,
  withdrawn INTEGER NOT NULL,
  n         INTEGER NOT NULL,
  published INTEGER NOT NULL,
  PRIMARY KEY (contract, author, other, form, type, withdrawn)
) WITHOUT ROWID;
INSERT INTO contract_counts SELECT contract, author, other, form, type, 0, count(*), count(seq) FROM contract_entries
  GROUP BY contract, author, other, form, type;
CREATE TRIGGER contract_entries_more AFTER INSERT ON contract_entries BEGIN
  INSERT INTO contract_counts VALUES (NEW.contract, NEW.author, NEW.other, NEW.form, NEW.type, NEW.withdrawn <> 0, 1, NEW.seq IS NOT NULL)
    ON CONFLICT DO UPDATE SET n = n + 1, published = published + excluded.published;
END;
CREATE TRIGGER contract_entries_fewer AFTER DELETE ON contract_entries BEGIN
  UPDATE contract_counts SET n = n - 1, published = published - (OLD.seq IS NOT NULL)
    WHERE contract = OLD.contract AND author = OLD.author AND other = OLD.other AND form = OLD.form AND type = OLD.type
      AND withdrawn = (OLD.withdrawn <> 0);
  DELETE FROM contract_counts
    WHERE contract = OLD.contract AND author = OLD.author AND other = OLD.other AND form = OLD.form AND type = OLD.type
      AND withdrawn = (OLD.withdrawn <> 0) AND n = 0;
END;
-- What changes of an entry: the relay takes it, its author withdraws it.
CREATE TRIGGER contract_entries_changed AFTER UPDATE OF seq, withdrawn ON contract_entries BEGIN
  UPDATE contract_counts SET n = n - 1, published = published - (OLD.seq IS NOT NULL)
    WHERE contract = OLD.contract AND author = OLD.author AND other = OLD.other AND form = OLD.form AND type = OLD.type
      AND withdrawn = (OLD.withdrawn <> 0);
  DELETE FROM contract_counts
    WHERE contract = OLD.contract AND author = OLD.author AND other = OLD.other AND form = OLD.form AND type = OLD.type
      AND withdrawn = (OLD.withdrawn <> 0) AND n = 0;
  INSERT INTO contract_counts VALUES (NEW.contract, NEW.author, NEW.other, NEW.form, NEW.type, NEW.withdrawn <> 0, 1, NEW.seq IS NOT NULL)
    ON CONFLICT DO UPDATE SET n = n + 1, published = published + excluded.published;
END;
-- Nothing shared goes without a gap: a number that is missing would look like one that is hidden.
CREATE TRIGGER contract_entries_gone AFTER DELETE ON contract_entries WHEN OLD.form < 2 BEGIN
  INSERT OR IGNORE INTO contract_gaps(thread, n, arrived_at, type, role)
    SELECT t.thread, OLD.n, OLD.arrived_at, OLD.type, coalesce((SELECT CASE s.poster WHEN OLD.author THEN 'poster' ELSE 'worker' END
        FROM contract_states AS s WHERE s.contract = t.contract AND s.a = t.a AND s.b = t.b),
        CASE t.a WHEN t.b THEN 'poster' ELSE '' END)
      FROM contract_threads AS t
      WHERE t.contract = OLD.contract AND t.a = min(OLD.author, OLD.other) AND t.b = max(OLD.author, OLD.other);
END;
