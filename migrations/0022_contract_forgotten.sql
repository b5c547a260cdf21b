-- Who asked to vanish (NIP-62) leaves no key in what the relay keeps of his contracts, once nothing there is by him or names him.

-- Keys of contract memory whose last words may be gone; looked at between batches, as pubkeys_gone.
CREATE TABLE contract_forgetting (
  contract TEXT NOT NULL,
  key      BLOB NOT NULL,
  PRIMARY KEY (contract, key)
) WITHOUT ROWID;
-- For whom a keyed hash stands: party is HMAC-SHA256 of the key under meta 'parties'.
CREATE TABLE contract_forgotten (
  contract TEXT NOT NULL,
  party    BLOB NOT NULL,
  PRIMARY KEY (contract, party)
) WITHOUT ROWID;

CREATE TRIGGER contract_entries_forgetting AFTER DELETE ON contract_entries BEGIN
  INSERT OR IGNORE INTO contract_forgetting VALUES (OLD.contract, OLD.author), (OLD.contract, OLD.other);
END;
CREATE TRIGGER contract_moves_forgetting AFTER DELETE ON contract_moves BEGIN
  INSERT OR IGNORE INTO contract_forgetting SELECT OLD.contract, a FROM contract_threads WHERE thread = OLD.thread
    UNION SELECT OLD.contract, b FROM contract_threads WHERE thread = OLD.thread;
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
