-- What the operator has removed (engramd delete) of addresses: no version older than it, and none that was superseded, becomes
-- head again. address: SHA-256 of kind (2 bytes, big-endian), pubkey and d, so that neither key nor d is kept. created_at, id:
-- those of the removed head, which itself may be published again; id is empty for a superseded version, which may not.
CREATE TABLE removed_heads (
  address    BLOB PRIMARY KEY NOT NULL,
  created_at INTEGER NOT NULL,
  id         BLOB NOT NULL
) WITHOUT ROWID;
