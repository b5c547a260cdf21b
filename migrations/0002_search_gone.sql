-- Texts that are to leave the full-text index. To take one out for good costs FTS5 some milliseconds, so it is done a few
-- at a time between other writes, and the text waits here until then. Nothing finds it meanwhile: a search joins events.
CREATE TABLE search_gone (
  seq   INTEGER PRIMARY KEY,
  class INTEGER NOT NULL, -- it was indexed under
  text  TEXT NOT NULL
);
