package state

import (
	"context"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Root returns the log that this writer writes now, and the head of the tree
// over all its numbers.
func (s Links) Root(ctx context.Context) (log Log, root writerlog.Hash, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) (err error) {
		if log, _, err = readLog(tx); err != nil {
			return err
		}
		root, err = tlog.TreeHash(log.Next, storedTree{tx, log.W})
		return err
	})
	return log, root, err
}

// attestedSoon is how long a process that attested without knowing its session
// counts as one of the session that its harness begins then.
const attestedSoon = time.Minute

// Attest reports whether a session is to attest where it continues from: the
// first of all that ask for it. process is the harness's, "" if that is not known,
// and session is "" for a server that does not know its own yet; a session that
// begins in the same process within a minute is the same.
func (s Sessions) Attest(ctx context.Context, session, process string) (first bool, err error) {
	if session == "" && process == "" {
		return true, nil // nobody could be told that it did
	}
	if err := fitting(session, process); err != nil {
		return false, err
	}
	err = s.write(ctx, func(tx *sealedfile.Tx) error {
		first = false
		now := s.now().UnixMilli()
		if err := tx.Exec("DELETE FROM attested WHERE at NOT BETWEEN ?1 AND ?2 OR n IN (SELECT n FROM attested ORDER BY n DESC LIMIT -1 OFFSET ?3)",
			now-SessionsLast.Milliseconds(), now+SessionsLast.Milliseconds(), MaxSessions); err != nil {
			return err
		}
		soon := now - attestedSoon.Milliseconds()
		if found, err := tx.One("SELECT n FROM attested WHERE ?1 <> '' AND session = ?1 OR ?2 <> '' AND process = ?2 AND at >= ?3 AND (session = '' OR ?1 = '')",
			func(sealedfile.Row) error { return nil }, session, process, soon); found || err != nil {
			if err != nil || session == "" {
				return err
			}
			return tx.Exec("UPDATE attested SET session = ?1 WHERE session = '' AND process = ?2 AND at >= ?3", session, process, soon)
		}
		first = true
		return tx.Exec("INSERT INTO attested (session, process, at) VALUES (?, ?, ?)", session, process, now)
	})
	return first && err == nil, err
}

// Unattest takes back that Attest said so: nothing was written.
func (s Sessions) Unattest(ctx context.Context, session, process string) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		return tx.Exec("DELETE FROM attested WHERE session = ? AND process = ?", session, process)
	})
}
