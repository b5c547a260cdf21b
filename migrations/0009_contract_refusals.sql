-- What relays have refused of contract memory on its way (contract_outbox), so that its author can be told.

-- target: a relay's URL, '' for this relay. reason: a machine-readable word of NIP-01. at: when it was refused first. final:
-- 1 when it is not tried again. author, contract and created_at are the event's. Gone when the target takes the event.
CREATE TABLE contract_refusals (
  id         BLOB NOT NULL,
  target     TEXT NOT NULL,
  author     BLOB NOT NULL,
  contract   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  at         INTEGER NOT NULL,
  final      INTEGER NOT NULL,
  PRIMARY KEY (id, target)
) WITHOUT ROWID;
CREATE INDEX contract_refusals_author ON contract_refusals(author, created_at);
