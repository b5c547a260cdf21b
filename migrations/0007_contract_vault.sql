-- Names of agents, the keys that are kept for them, and what waits to be published (contract memory API).

-- An agent id belongs to one key and a key has one. sealed: the secret key under the master key, NULL when the relay does
-- not keep it (any more). The master key's check value is in meta, as 'contracts_key'.
CREATE TABLE contract_agents (
  agent_id   TEXT PRIMARY KEY NOT NULL,
  pubkey     BLOB NOT NULL UNIQUE,
  sealed     BLOB,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
-- Bearer tokens of agents whose keys are kept. hash: SHA-256 of the token, 256 random bits.
CREATE TABLE contract_tokens (
  hash       BLOB PRIMARY KEY NOT NULL,
  agent_id   TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX contract_tokens_agent ON contract_tokens(agent_id);

-- Signed events on their way, and who has to get each: target is a relay's URL, '' for this relay itself. An event is
-- there as long as somebody waits for it. author, contract and created_at are the event's.
CREATE TABLE contract_outbox (
  n          INTEGER PRIMARY KEY AUTOINCREMENT,
  id         BLOB NOT NULL UNIQUE,
  author     BLOB NOT NULL,
  contract   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  queued_at  INTEGER NOT NULL,
  json       BLOB NOT NULL
);
CREATE INDEX contract_outbox_contract ON contract_outbox(contract, author, created_at);
CREATE TABLE contract_outbox_for (
  target TEXT NOT NULL,
  n      INTEGER NOT NULL,
  PRIMARY KEY (target, n)
) WITHOUT ROWID;
CREATE INDEX contract_outbox_for_n ON contract_outbox_for(n);
