package state

import (
	"context"
	"fmt"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

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
	if err := fits(slugs...); err != nil {
		return err
	}
	if len(slugs) > maxAtOnce {
		return fmt.Errorf("%w: %d slugs at once", ErrTooLarge, len(slugs))
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		now := s.now().UTC()
		for _, slug := range slugs {
			good, bad := 0, 1
			if useful {
				good, bad = 1, 0
				if err := tx.Exec(`INSERT INTO earned (day, slug) SELECT ?1, ?2 WHERE (SELECT count(*) FROM earned) < ?3 ON CONFLICT DO NOTHING`,
					now.Format(time.DateOnly), slug, MaxEarned); err != nil {
					return err
				}
			}
			if err := tx.Exec(`INSERT INTO feedback (slug, useful, wrong, last) VALUES (?, ?, ?, ?) ON CONFLICT (slug) DO UPDATE
				SET useful = useful + excluded.useful, wrong = wrong + excluded.wrong, last = max(last, excluded.last)`,
				slug, good, bad, now.UnixMilli()); err != nil {
				return err
			}
		}
		return tx.Exec("DELETE FROM feedback WHERE slug IN (SELECT slug FROM feedback ORDER BY last DESC, slug LIMIT -1 OFFSET ?)", MaxTallies)
	})
}

// All returns what memories were called, by slug, and how often that has
// added to the budget.
func (s Feedback) All(ctx context.Context) (all map[string]Judged, earned int, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all, earned = map[string]Judged{}, 0
		if _, err := tx.One("SELECT count(*) FROM earned", func(r sealedfile.Row) error { earned = int(r.Int(0)); return nil }); err != nil {
			return err
		}
		return tx.Each("SELECT slug, useful, wrong, last FROM feedback", func(r sealedfile.Row) error {
			all[r.Text(0)] = Judged{Useful: r.Int(1), Wrong: r.Int(2), Last: time.UnixMilli(r.Int(3)).UTC()}
			return nil
		})
	})
	return all, earned, err
}

// Flushing reports whether it is time to tell relays of the counters, and takes
// the turn: the next is FlushEvery later, whatever becomes of this one.
func (s Counters) Flushing(ctx context.Context) (due bool, err error) {
	err = s.write(ctx, func(tx *sealedfile.Tx) error {
		now := s.now()
		before := int64(0)
		if _, err := tx.One("SELECT at FROM flushes", func(r sealedfile.Row) error { before = r.Int(0); return nil }); err != nil {
			return err
		}
		// A turn that lies days ahead was taken by a clock that was wrong.
		if due = max(now.UnixMilli()-before, before-now.UnixMilli()) >= FlushEvery.Milliseconds(); !due {
			return nil
		}
		return tx.Exec("INSERT INTO flushes VALUES (1, ?1) ON CONFLICT (one) DO UPDATE SET at = ?1", now.UnixMilli())
	})
	return due && err == nil, err
}
