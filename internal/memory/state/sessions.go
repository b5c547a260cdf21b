package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Took notes that events are stored, by their ids, and which relays said that they
// took each of them, or showed it, by their URLs. Of relays beyond MaxTakers it is
// not kept. Ids that are not of a log are left.
func (s Links) Took(ctx context.Context, took map[string][]string) error {
	if len(took) == 0 {
		return nil
	}
	for _, relays := range took {
		if err := fits(relays...); err != nil {
			return err
		}
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(took)) {
			raw, ok := writerlog.ParseID(id)
			if !ok {
				continue
			}
			var bits int64
			for _, relay := range took[id] {
				bits |= takerBit(tx, relay)
			}
			keepStored(tx, raw[:])
			fresh := tx.Has("SELECT 1 FROM links WHERE id = ? AND fate <> 1", raw[:])
			if tx.Exec("UPDATE links SET fate = 1, event = NULL, took = took | ? WHERE id = ?", bits, raw[:]); fresh {
				follow(tx, raw[:])
			}
		}
		return nil
	})
}

// takerBit returns the bit of a relay, 0 if there is none left for it.
func takerBit(tx *sealedfile.Tx, relay string) int64 {
	var next, at int64
	for r := range tx.Rows("SELECT count(*), coalesce(max(CASE relay WHEN ? THEN bit END), -1) FROM takers", relay) {
		next, at = r.Int(0), r.Int(1)
	}
	switch {
	case at >= 0:
		return 1 << at
	case next >= MaxTakers:
		return 0
	}
	tx.Exec("INSERT INTO takers VALUES (?, ?)", next, relay)
	return 1 << next
}

// takersOf returns a function that says which relays a set of bits is of. Equal
// sets are one slice.
func takersOf(tx *sealedfile.Tx) func(took int64) []string {
	var relays []string
	for r := range tx.Rows("SELECT relay FROM takers ORDER BY bit") {
		relays = append(relays, r.Text(0))
	}
	sets := map[int64][]string{}
	return func(took int64) []string {
		if set, known := sets[took]; known || took == 0 {
			return set
		}
		var set []string
		for bit, relay := range relays {
			if took&(1<<bit) != 0 {
				set = append(set, relay)
			}
		}
		sets[took] = set
		return set
	}
}

// Session is one conversation of an agent in its harness.
type Session struct {
	ID, Harness   string
	Started, Seen time.Time
	// Process is the harness's, by a name that is good for as long as it runs; ""
	// is not known. Folder is where the session works, and Project what that is of.
	Process, Folder, Project string
	Prompts, Writes          int64
	// Clone and Old are the folder's as internal/memory/project says; they are taken in, and
	// not given back.
	Clone, Old string
}

// Shown is a text that stood in a session's context: a slug, and the hash of its
// text at that time.
type Shown struct{ Slug, Hash string }

// touch notes that a session is there, and begins it if it is new. One that was begun
// keeps its harness, and no session is seen earlier than it was.
func (s Sessions) touch(tx *sealedfile.Tx, id, harness string) error {
	now := s.now()
	tx.Exec(`INSERT INTO sessions (id, harness, started, seen) VALUES (?1, ?2, ?3, ?3) ON CONFLICT (id) DO UPDATE SET seen = max(seen, excluded.seen)`, id, harness, now.UnixMilli())
	tx.Exec("DELETE FROM sessions WHERE seen < ? AND id <> ?", now.Add(-SessionsLast).UnixMilli(), id)
	return tx.Exec("DELETE FROM sessions WHERE id <> ?1 AND id IN (SELECT id FROM sessions ORDER BY seen DESC, id LIMIT -1 OFFSET ?2)", id, MaxSessions)
}

const sessionColumns = "id, harness, started, seen, process, folder, project, prompts, writes"

func sessionOf(r sealedfile.Row) Session {
	return Session{ID: r.Text(0), Harness: r.Text(1), Started: time.UnixMilli(r.Int(2)).UTC(), Seen: time.UnixMilli(r.Int(3)).UTC(),
		Process: r.Text(4), Folder: r.Text(5), Project: r.Text(6), Prompts: r.Int(7), Writes: r.Int(8)}
}

// sessionIn returns the session that a condition is true of.
func sessionIn(tx *sealedfile.Tx, which string, args ...any) (one Session, found bool) {
	for r := range tx.Rows("SELECT "+sessionColumns+" FROM sessions WHERE "+which, args...) {
		one, found = sessionOf(r), true
	}
	return one, found
}

// Show notes what is about to be shown in a session, which is seen by that, and
// returns what of it has not been shown there before: of several processes that
// show the same at once, one is told so.
func (s Sessions) Show(ctx context.Context, id, harness string, texts []Shown) (fresh []Shown, err error) {
	if err := cmp.Or(fits(id, harness), shownFits(texts)); err != nil {
		return nil, err
	}
	err = s.write(ctx, func(tx *sealedfile.Tx) error {
		s.touch(tx, id, harness)
		fresh = show(tx, id, texts)
		return tx.Err()
	})
	return fresh, err
}

// shownFits refuses texts beyond the bounds.
func shownFits(texts []Shown) error {
	if len(texts) > maxAtOnce {
		return fmt.Errorf("%w: %d texts at once", ErrTooLarge, len(texts))
	}
	for _, t := range texts {
		if err := fits(t.Slug, t.Hash); err != nil {
			return err
		}
	}
	return nil
}

// show is Show within a transaction.
func show(tx *sealedfile.Tx, id string, texts []Shown) (fresh []Shown) {
	for _, t := range texts {
		tx.Exec("INSERT INTO shown (session, slug, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", id, t.Slug, t.Hash)
		if tx.Changed() > 0 {
			fresh = append(fresh, t)
		}
	}
	tx.Exec("DELETE FROM shown WHERE n IN (SELECT n FROM shown WHERE session = ? ORDER BY n DESC LIMIT -1 OFFSET ?)", id, MaxShown)
	return fresh
}

// Shown returns what was shown in a session, in that order.
func (s Sessions) Shown(ctx context.Context, id string) ([]Shown, error) {
	return list(ctx, s.db, func(r sealedfile.Row) Shown { return Shown{r.Text(0), r.Text(1)} }, "SELECT slug, hash FROM shown WHERE session = ? ORDER BY n", id)
}

// Forget drops what was shown in a session: its context is a new one, as after a
// harness has compacted it.
func (s Sessions) Forget(ctx context.Context, id string) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error { return tx.Exec("DELETE FROM shown WHERE session = ?", id) })
}
