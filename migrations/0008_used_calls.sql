-- NIP-98 events that signed changes over HTTP (contract memory API), for twice auth.http_window, so that none counts twice,
-- also after a crash.
CREATE TABLE used_calls (
  id  BLOB PRIMARY KEY NOT NULL,
  key BLOB NOT NULL,
  at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX used_calls_at ON used_calls(at);
