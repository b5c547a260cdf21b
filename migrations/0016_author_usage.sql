-- How many events each author keeps here, events and history together, and how many bytes of JSON they have. The writer keeps
-- it with every commit, so that a quota costs the same for who has much and for who has little.
CREATE TABLE author_usage (
  author BLOB PRIMARY KEY NOT NULL,
  events INTEGER NOT NULL,
  bytes  INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO author_usage SELECT author, sum(n), sum(size) FROM (
  SELECT (SELECT key FROM pubkeys WHERE num = events.author) AS author, count(*) AS n, sum(length(json)) AS size
    FROM events NOT INDEXED GROUP BY events.author
  UNION ALL SELECT pubkey, count(*), sum(length(json)) FROM history NOT INDEXED GROUP BY pubkey
) GROUP BY author;
