-- Who decides about a contract, by what its parties have signed (NIP-TEMP).

-- What opens offer and acceptances repeat. worker: the poster himself in an open that names nobody yet. said: 0 offered,
-- 1 repeated. term: 1 arbitrator, 2 decider, 3 expirer, 4 deadline. value: a key, or Unix seconds.
CREATE TABLE contract_terms (
  contract TEXT NOT NULL,
  poster   BLOB NOT NULL,
  worker   BLOB NOT NULL,
  said     INTEGER NOT NULL,
  term     INTEGER NOT NULL,
  value    NOT NULL,
  PRIMARY KEY (contract, poster, worker, said, term, value)
) WITHOUT ROWID;

-- What both have said, and can never take back. NULL for what they did not agree on. n: those who agreed first have the lowest.
CREATE TABLE contract_cases (
  contract   TEXT NOT NULL,
  poster     BLOB NOT NULL,
  worker     BLOB NOT NULL,
  arbitrator BLOB,
  decider    BLOB,
  expirer    BLOB,
  deadline   INTEGER,
  n          INTEGER NOT NULL,
  PRIMARY KEY (contract, poster, worker)
) WITHOUT ROWID;
CREATE INDEX contract_cases_arbitrator ON contract_cases(arbitrator, contract, n) WHERE arbitrator IS NOT NULL;

-- Events by which somebody decided who is no party, whether they hold or not (yet): import and restore bring them in any
-- order. worker: the poster for an offer that nobody accepted. live: 1 when it was judged as it arrived, and stays. held: 1 when
-- the contract was moved by it.
CREATE TABLE contract_verdicts (
  contract   TEXT NOT NULL,
  id         BLOB NOT NULL,
  author     BLOB NOT NULL,
  poster     BLOB NOT NULL,
  worker     BLOB NOT NULL,
  was        TEXT NOT NULL,
  status     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  live       INTEGER NOT NULL,
  held       INTEGER NOT NULL,
  note       TEXT NOT NULL,
  PRIMARY KEY (contract, id)
) WITHOUT ROWID;

-- event: that of a decision, NULL for one that holds on this relay only.
ALTER TABLE contract_decisions ADD COLUMN event BLOB;
