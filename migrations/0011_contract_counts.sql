-- How many entries of each form and type each part of a thread has (n), and how many of them the relay has taken
-- (published), so that nothing needs to go through a long thread to say so. The triggers keep it whatever changes a thread.
CREATE TABLE contract_counts (
  contract  TEXT NOT NULL,
  author    BLOB NOT NULL,
  other     BLOB NOT NULL,
  form      INTEGER NOT NULL,
  type      TEXT NOT NULL,
  n         INTEGER NOT NULL,
  published INTEGER NOT NULL,
  PRIMARY KEY (contract, author, other, form, type)
) WITHOUT ROWID;
INSERT INTO contract_counts SELECT contract, author, other, form, type, count(*), count(seq) FROM contract_entries
  GROUP BY contract, author, other, form, type;

CREATE TRIGGER contract_entries_more AFTER INSERT ON contract_entries BEGIN
  INSERT INTO contract_counts VALUES (NEW.contract, NEW.author, NEW.other, NEW.form, NEW.type, 1, NEW.seq IS NOT NULL)
    ON CONFLICT DO UPDATE SET n = n + 1, published = published + excluded.published;
END;
CREATE TRIGGER contract_entries_fewer AFTER DELETE ON contract_entries BEGIN
  UPDATE contract_counts SET n = n - 1, published = published - (OLD.seq IS NOT NULL)
    WHERE contract = OLD.contract AND author = OLD.author AND other = OLD.other AND form = OLD.form AND type = OLD.type;
  DELETE FROM contract_counts
    WHERE contract = OLD.contract AND author = OLD.author AND other = OLD.other AND form = OLD.form AND type = OLD.type AND n = 0;
END;
-- Nothing else of an entry ever changes.
CREATE TRIGGER contract_entries_taken AFTER UPDATE OF seq ON contract_entries BEGIN
  UPDATE contract_counts SET published = published + (NEW.seq IS NOT NULL) - (OLD.seq IS NOT NULL)
    WHERE contract = NEW.contract AND author = NEW.author AND other = NEW.other AND form = NEW.form AND type = NEW.type;
END;

-- What has expired and is not swept yet does not count.
CREATE INDEX contract_entries_expiring ON contract_entries(contract, author, other, expires_at, form, type, seq)
  WHERE expires_at IS NOT NULL;
