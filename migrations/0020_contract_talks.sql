-- Contracts of which only entries are known: what two keys said to each other under an id of which no state is known,
-- between anybody. Their parties find them here; a state under the id takes them away.

-- a <= b: the keys; equal where the author addressed what he said to himself. first: who of the two spoke first here. at: when
-- that came. n: in which order they came. The triggers keep it whatever changes a thread.
CREATE TABLE contract_talks (
  contract TEXT NOT NULL,
  a        BLOB NOT NULL,
  b        BLOB NOT NULL,
  first    BLOB NOT NULL,
  at       INTEGER NOT NULL,
  n        INTEGER NOT NULL,
  PRIMARY KEY (contract, a, b)
) WITHOUT ROWID;
CREATE UNIQUE INDEX contract_talks_n ON contract_talks(n);
CREATE INDEX contract_talks_of_a ON contract_talks(a, n);
CREATE INDEX contract_talks_of_b ON contract_talks(b, n);

WITH heard AS (
  SELECT contract, min(author, other) AS a, max(author, other) AS b, author, arrived_at, created_at, id,
    row_number() OVER (PARTITION BY contract, min(author, other), max(author, other) ORDER BY arrived_at, created_at, id) AS k
  FROM contract_entries WHERE form < 2 AND NOT EXISTS (SELECT 1 FROM contract_states AS s WHERE s.contract = contract_entries.contract)
)
INSERT INTO contract_talks(contract, a, b, first, at, n)
  SELECT contract, a, b, author, arrived_at, row_number() OVER (ORDER BY arrived_at, contract, a, b) FROM heard WHERE k = 1;

CREATE TRIGGER contract_talks_begin AFTER INSERT ON contract_entries
  WHEN NEW.form < 2 AND NOT EXISTS (SELECT 1 FROM contract_states WHERE contract = NEW.contract)
BEGIN
  INSERT INTO contract_talks VALUES (NEW.contract, min(NEW.author, NEW.other), max(NEW.author, NEW.other), NEW.author, NEW.arrived_at,
    (SELECT coalesce(max(n), 0) + 1 FROM contract_talks)) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER contract_talks_known AFTER INSERT ON contract_states BEGIN
  DELETE FROM contract_talks WHERE contract = NEW.contract;
END;
-- What was withdrawn stays in its thread, and keeps the talk.
CREATE TRIGGER contract_talks_end AFTER DELETE ON contract_entries
  WHEN OLD.form < 2
    AND EXISTS (SELECT 1 FROM contract_talks WHERE contract = OLD.contract AND a = min(OLD.author, OLD.other) AND b = max(OLD.author, OLD.other))
    AND NOT EXISTS (SELECT 1 FROM contract_entries WHERE contract = OLD.contract AND author = OLD.author AND other = OLD.other AND form < 2)
    AND NOT EXISTS (SELECT 1 FROM contract_entries WHERE contract = OLD.contract AND author = OLD.other AND other = OLD.author AND form < 2)
BEGIN
  DELETE FROM contract_talks WHERE contract = OLD.contract AND a = min(OLD.author, OLD.other) AND b = max(OLD.author, OLD.other);
END;
