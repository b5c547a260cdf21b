-- Names of agents who asked to vanish (NIP-62): nobody else may pass for them. owner: SHA-256 of the name and the key, so that
-- the key itself is not kept beside the name, and whoever has it can come back.
CREATE TABLE contract_names_gone (
  agent_id TEXT PRIMARY KEY NOT NULL,
  owner    BLOB NOT NULL
) WITHOUT ROWID;
