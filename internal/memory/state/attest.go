package state

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Root returns the log that this writer writes now, and the head of the tree
// over all its numbers.
func (s Links) Root(ctx context.Context) (log Log, root writerlog.Hash, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) (err error) {
		log, _ = readLog(tx)
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
		tx.Exec("DELETE FROM attested WHERE at NOT BETWEEN ?1 AND ?2 OR n IN (SELECT n FROM attested ORDER BY n DESC LIMIT -1 OFFSET ?3)",
			now-SessionsLast.Milliseconds(), now+SessionsLast.Milliseconds(), MaxSessions)
		soon := now - attestedSoon.Milliseconds()
		if tx.Has("SELECT n FROM attested WHERE ?1 <> '' AND session = ?1 OR ?2 <> '' AND process = ?2 AND at >= ?3 AND (session = '' OR ?1 = '')", session, process, soon) {
			return tx.Exec("UPDATE attested SET session = ?1 WHERE ?1 <> '' AND session = '' AND process = ?2 AND at >= ?3", session, process, soon)
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

// checkedBytes is how much of an id is kept of a signature that was checked.
const checkedBytes = 16

// Checked returns a function that says of an event's id whether its signature was
// checked before.
func (s Audit) Checked(ctx context.Context) (known func(id string) bool, err error) {
	all := map[[checkedBytes]byte]bool{}
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		clear(all)
		for r := range tx.Rows("SELECT id FROM checked") {
			var id [checkedBytes]byte
			copy(id[:], r.Raw(0))
			all[id] = true
		}
		return nil
	})
	return func(id string) bool {
		at, ok := checkedID(id)
		return ok && all[at]
	}, err
}

func checkedID(id string) (at [checkedBytes]byte, ok bool) {
	raw, ok := writerlog.ParseID(id)
	copy(at[:], raw[:])
	return at, ok
}

// SetChecked notes events whose signatures were checked, by their ids. Beyond
// MaxChecked it forgets those of before, which are checked again then.
func (s Audit) SetChecked(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	ids = ids[:min(len(ids), MaxChecked)]
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		if tx.Int("SELECT count(*) FROM checked")+int64(len(ids)) > MaxChecked {
			tx.Exec("DELETE FROM checked")
		}
		for _, id := range ids {
			if at, ok := checkedID(id); ok {
				tx.Exec("INSERT OR IGNORE INTO checked VALUES (?)", at[:])
			}
		}
		return nil
	})
}

// maxOwn bounds how many numbers Own returns.
const maxOwn = 1 << 20

// Own returns what this writer knows of its logs: of each the numbers from 0 on.
func (s Links) Own(ctx context.Context) (logs map[string][]writerlog.Own, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		logs = map[string][]writerlog.Own{}
		takers := takersOf(tx)
		for r := range tx.Rows("SELECT w, n, id, at, fate, took, d, expires FROM links ORDER BY w, n LIMIT ?", maxOwn) {
			w, fate := r.Text(0), Fate(r.Int(4))
			if r.Int(1) == int64(len(logs[w])) {
				logs[w] = append(logs[w], writerlog.Own{ID: hex.EncodeToString(r.Raw(2)), D: hex.EncodeToString(r.Raw(6)), At: r.Int(3),
					Stored: fate == Stored, Void: fate == Void, Took: takers(r.Int(5)), Ends: r.Int(7)})
			}
		}
		return nil
	})
	return logs, err
}

// Marks returns what each relay has shown of the logs, by its URL.
func (s Audit) Marks(ctx context.Context) (marks map[string][]writerlog.Mark, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		marks = map[string][]writerlog.Mark{}
		for r := range tx.Rows("SELECT relay, w, n, id, d, at FROM marks ORDER BY relay, at DESC, w") {
			m := writerlog.Mark{W: r.Text(1), N: r.Int(2), ID: r.Text(3), D: r.Text(4), At: r.Int(5)}
			marks[r.Text(0)] = append(marks[r.Text(0)], m)
		}
		return nil
	})
	return marks, err
}

// SetMarks replaces the marks of a relay; beyond MaxMarks the last are left out.
// A relay beyond MaxMarked is refused.
func (s Audit) SetMarks(ctx context.Context, relay string, marks []writerlog.Mark) error {
	if err := fits(relay); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		if tx.Int("SELECT count(DISTINCT relay) FROM marks WHERE relay <> ?", relay) >= MaxMarked {
			return fmt.Errorf("%w: marks of more than %d relays", ErrTooLarge, MaxMarked)
		}
		tx.Exec("DELETE FROM marks WHERE relay = ?", relay)
		for _, m := range marks[:min(len(marks), MaxMarks)] {
			if _, err := hex.DecodeString(m.ID + m.D); err != nil || !writerlog.IsLog(m.W) {
				return fmt.Errorf("a mark that is none: %w", writerlog.ErrLink)
			}
			tx.Exec("INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?)", relay, m.W, m.N, m.ID, m.D, m.At)
		}
		return nil
	})
}
