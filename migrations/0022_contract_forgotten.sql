-- Who asked to vanish (NIP-62) leaves no key in what outlives the events of his contracts: a keyed hash stands in its place.

-- Keys of contract memory of which something is gone; looked at between batches, as pubkeys_gone.
CREATE TABLE contract_forgetting (
  contract TEXT NOT NULL,
  key      BLOB NOT NULL,
  PRIMARY KEY (contract, key)
) WITHOUT ROWID;
-- For whom a hash stands in contract_owners, _states, _steps, _threads, _terms, _cases, _verdicts and _decisions. party:
-- HMAC-SHA256 of the key under meta 'parties'. Entries and moves name keys as the events do that are there.
CREATE TABLE contract_forgotten (
  contract TEXT NOT NULL,
  party    BLOB NOT NULL,
  PRIMARY KEY (contract, party)
) WITHOUT ROWID;

CREATE TRIGGER contract_entries_forgetting AFTER DELETE ON contract_entries BEGIN
  INSERT OR IGNORE INTO contract_forgetting VALUES (OLD.contract, OLD.author), (OLD.contract, OLD.other);
END;
CREATE TRIGGER contract_moves_forgetting AFTER DELETE ON contract_moves BEGIN
  INSERT OR IGNORE INTO contract_forgetting VALUES (OLD.contract, OLD.author), (OLD.contract, OLD.other);
END;

-- thread: whose numbers the entry has, for its keys may not be those of the thread.
ALTER TABLE contract_entries ADD COLUMN thread INTEGER NOT NULL DEFAULT 0;
UPDATE contract_entries AS e SET thread = coalesce((SELECT t.thread FROM contract_threads AS t
  WHERE t.contract = e.contract AND t.a = min(e.author, e.other) AND t.b = max(e.author, e.other)), 0);
DROP TRIGGER contract_entries_gone;
CREATE TRIGGER contract_entries_gone AFTER DELETE ON contract_entries WHEN OLD.form < 2 AND OLD.thread > 0 BEGIN
  INSERT OR IGNORE INTO contract_gaps(thread, n, arrived_at, type, role)
    SELECT OLD.thread, OLD.n, OLD.arrived_at, OLD.type, CASE OLD.author WHEN OLD.other THEN 'poster' ELSE
      coalesce((SELECT CASE s.poster WHEN OLD.author THEN 'poster' ELSE 'worker' END FROM contract_threads AS t
        JOIN contract_states AS s ON s.contract = t.contract AND s.a = t.a AND s.b = t.b
        WHERE t.thread = OLD.thread AND t.a <> t.b), '') END;
END;

-- Those who vanished before.
INSERT OR IGNORE INTO contract_forgetting
  SELECT contract, a FROM contract_states WHERE a IN (SELECT pubkey FROM vanished)
  UNION SELECT contract, b FROM contract_states WHERE b IN (SELECT pubkey FROM vanished)
  UNION SELECT contract, owner FROM contract_owners WHERE owner IN (SELECT pubkey FROM vanished)
  UNION SELECT contract, author FROM contract_steps WHERE author IN (SELECT pubkey FROM vanished)
  UNION SELECT contract, other FROM contract_steps WHERE other IN (SELECT pubkey FROM vanished)
  UNION SELECT contract, a FROM contract_threads WHERE a IN (SELECT pubkey FROM vanished)
  UNION SELECT contract, b FROM contract_threads WHERE b IN (SELECT pubkey FROM vanished);
