package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Use is what somebody did with a memory.
type Use int

// The uses that are counted.
const (
	Recalled Use = iota // it was found and shown
	Read                // it was asked for by its slug
)

// Counter says how often a memory was used on this machine, ever.
type Counter struct {
	Slug           string
	Recalled, Read int64
	Last           time.Time
}

// Count notes a use of memories.
func (s Counters) Count(ctx context.Context, use Use, slugs ...string) error {
	if err := few(slugs); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error { return count(tx, s.now(), use, slugs) })
}

// count is Count within a transaction.
func count(tx *sealedfile.Tx, now time.Time, use Use, slugs []string) error {
	recalled, read := 1, 0
	if use == Read {
		recalled, read = 0, 1
	}
	for _, slug := range slugs {
		tx.Exec(`INSERT INTO counters (slug, recalled, read, last) VALUES (?, ?, ?, ?) ON CONFLICT (slug) DO UPDATE
			SET recalled = recalled + excluded.recalled, read = read + excluded.read, last = max(last, excluded.last)`,
			slug, recalled, read, now.UnixMilli())
	}
	return tx.Exec("DELETE FROM counters WHERE slug IN (SELECT slug FROM counters ORDER BY last DESC, slug LIMIT -1 OFFSET ?)", MaxCounters)
}

// All returns all counters, and how many of them have counted something
// that no relay was told (Flushed).
func (s Counters) All(ctx context.Context) (all []Counter, unflushed int, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all, unflushed = nil, 0
		for r := range tx.Rows("SELECT slug, recalled, read, last, recalled > flushed_recalled OR read > flushed_read FROM counters ORDER BY slug") {
			all = append(all, Counter{Slug: r.Text(0), Recalled: r.Int(1), Read: r.Int(2), Last: time.UnixMilli(r.Int(3)).UTC()})
			unflushed += int(r.Int(4))
		}
		return nil
	})
	return all, unflushed, err
}

// Flushed notes that relays were told of these counters as they are given. What
// was counted since then stays unflushed.
func (s Counters) Flushed(ctx context.Context, told []Counter) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, c := range told {
			tx.Exec(`UPDATE counters SET flushed_recalled = max(flushed_recalled, min(recalled, ?2)), flushed_read = max(flushed_read, min(read, ?3)) WHERE slug = ?1`,
				c.Slug, c.Recalled, c.Read)
		}
		return nil
	})
}

// The kinds of tallies that plans keep.
const (
	Offered = "offered" // a plan showed it, and no operation named it
	Dreamt  = "dreamt"  // a dream drew it
	Sides   = "sides"   // whose words the last plan was about, in place of a memory
)

// Tallied says how often something was done with a memory, and when last.
type Tallied struct {
	N    int64
	Last time.Time
}

// Add counts one more of a kind for each of the memories.
func (s Tallies) Add(ctx context.Context, kind string, slugs ...string) error {
	if err := errors.Join(fits(kind), few(slugs)); err != nil || len(slugs) == 0 {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, slug := range slugs {
			tx.Exec(`INSERT INTO tallies (kind, slug, n, last) VALUES (?, ?, 1, ?) ON CONFLICT (kind, slug) DO UPDATE
				SET n = n + 1, last = max(last, excluded.last)`, kind, slug, s.now().UnixMilli())
		}
		return tx.Exec("DELETE FROM tallies WHERE kind = ?1 AND slug IN (SELECT slug FROM tallies WHERE kind = ?1 ORDER BY last DESC, slug LIMIT -1 OFFSET ?2)", kind, MaxTallies)
	})
}

// Of returns what is counted of a kind, by slug.
func (s Tallies) Of(ctx context.Context, kind string) (all map[string]Tallied, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all = map[string]Tallied{}
		for r := range tx.Rows("SELECT slug, n, last FROM tallies WHERE kind = ?", kind) {
			all[r.Text(0)] = Tallied{N: r.Int(1), Last: time.UnixMilli(r.Int(2)).UTC()}
		}
		return nil
	})
	return all, err
}

// Forget forgets what is counted of a kind for the memories.
func (s Tallies) Forget(ctx context.Context, kind string, slugs ...string) error {
	if err := errors.Join(fits(kind), few(slugs)); err != nil || len(slugs) == 0 {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, slug := range slugs {
			tx.Exec("DELETE FROM tallies WHERE kind = ? AND slug = ?", kind, slug)
		}
		return nil
	})
}

// few refuses slugs beyond the bounds.
func few(slugs []string) error {
	if len(slugs) > maxAtOnce {
		return fmt.Errorf("%w: %d slugs at once", ErrTooLarge, len(slugs))
	}
	return fits(slugs...)
}

// Judged says how often a memory was called useful, and how often wrong.
type Judged struct {
	Useful, Wrong int64
	Last          time.Time
}

// MaxEarned is how often praise adds to the budget of tokens.
const MaxEarned = 10

// FlushEvery is how often relays are told of counters at most.
const FlushEvery = 24 * time.Hour

// Judge notes that memories were useful, or wrong. The first time on a day that one
// was useful adds to what is earned, MaxEarned times at most.
func (s Feedback) Judge(ctx context.Context, useful bool, slugs ...string) error {
	if err := few(slugs); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		now := s.now().UTC()
		for _, slug := range slugs {
			good, bad := 0, 1
			if useful {
				good, bad = 1, 0
				tx.Exec(`INSERT INTO earned (day, slug) SELECT ?1, ?2 WHERE (SELECT count(*) FROM earned) < ?3 ON CONFLICT DO NOTHING`,
					now.Format(time.DateOnly), slug, MaxEarned)
			}
			tx.Exec(`INSERT INTO feedback (slug, useful, wrong, last) VALUES (?, ?, ?, ?) ON CONFLICT (slug) DO UPDATE
				SET useful = useful + excluded.useful, wrong = wrong + excluded.wrong, last = max(last, excluded.last)`,
				slug, good, bad, now.UnixMilli())
		}
		return tx.Exec("DELETE FROM feedback WHERE slug IN (SELECT slug FROM feedback ORDER BY last DESC, slug LIMIT -1 OFFSET ?)", MaxTallies)
	})
}

// All returns what memories were called, by slug, and how often that has
// added to the budget.
func (s Feedback) All(ctx context.Context) (all map[string]Judged, earned int, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all, earned = map[string]Judged{}, int(tx.Int("SELECT count(*) FROM earned"))
		for r := range tx.Rows("SELECT slug, useful, wrong, last FROM feedback") {
			all[r.Text(0)] = Judged{Useful: r.Int(1), Wrong: r.Int(2), Last: time.UnixMilli(r.Int(3)).UTC()}
		}
		return nil
	})
	return all, earned, err
}

// Flushing reports whether it is time to tell relays of the counters, and takes
// the turn: the next is FlushEvery later, whatever becomes of this one.
func (s Counters) Flushing(ctx context.Context) (due bool, err error) {
	err = s.write(ctx, func(tx *sealedfile.Tx) error {
		now, before := s.now(), tx.Int("SELECT at FROM flushes")
		// A turn that lies days ahead was taken by a clock that was wrong.
		if due = max(now.UnixMilli()-before, before-now.UnixMilli()) >= FlushEvery.Milliseconds(); !due {
			return nil
		}
		return tx.Exec("INSERT INTO flushes VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET at = ?1", now.UnixMilli())
	})
	return due && err == nil, err
}
