-- What the management API (NIP-86) has decided, and who called it.

-- list: 'pubkey', 'event' (key: 32 bytes), 'kind' (its number as text), 'network' (CIDR) or 'info' (NIP-11 field).
-- verdict: 'banned' or 'allowed'; 'set' for info. An entry has one verdict: to allow is to lift a ban, and the reverse.
-- text: the reason, or the field's value.
CREATE TABLE admin_lists (
  list    TEXT NOT NULL,
  key     NOT NULL,
  verdict TEXT NOT NULL,
  text    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (list, key)
) WITHOUT ROWID;

-- One row per call of a managing key, written with what it changed. params: as they were understood, NULL when they were
-- not; digest: SHA-256 of the request's body. auth: id of the NIP-98 event that signed it.
CREATE TABLE admin_audit (
  n       INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  key     BLOB NOT NULL,
  auth    BLOB NOT NULL,
  address TEXT NOT NULL,
  method  TEXT NOT NULL,
  params  TEXT,
  digest  BLOB NOT NULL,
  outcome TEXT NOT NULL,
  detail  TEXT NOT NULL
);
CREATE INDEX admin_audit_at ON admin_audit(at);

-- Rows are added and nothing else. INSERT OR REPLACE would take a row away without firing the trigger on DELETE.
CREATE TRIGGER admin_audit_kept BEFORE DELETE ON admin_audit
  BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END;
CREATE TRIGGER admin_audit_fixed BEFORE UPDATE ON admin_audit
  BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END;
CREATE TRIGGER admin_audit_once BEFORE INSERT ON admin_audit WHEN EXISTS (SELECT 1 FROM admin_audit WHERE n = NEW.n)
  BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END;
