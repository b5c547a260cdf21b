package state

import (
	"context"
	"fmt"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// The kinds of tallies that plans keep.
const (
	Offered = "offered" // a plan showed it, and no operation named it
	Dreamt  = "dreamt"  // a dream drew it
)

// Tallied says how often something was done with a memory, and when last.
type Tallied struct {
	N    int64
	Last time.Time
}

// Add counts one more of a kind for each of the memories.
func (s Tallies) Add(ctx context.Context, kind string, slugs ...string) error {
	if err := tallied(kind, slugs); err != nil || len(slugs) == 0 {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, slug := range slugs {
			if err := tx.Exec(`INSERT INTO tallies (kind, slug, n, last) VALUES (?, ?, 1, ?) ON CONFLICT (kind, slug) DO UPDATE
				SET n = n + 1, last = max(last, excluded.last)`, kind, slug, s.now().UnixMilli()); err != nil {
				return err
			}
		}
		return tx.Exec("DELETE FROM tallies WHERE kind = ?1 AND slug IN (SELECT slug FROM tallies WHERE kind = ?1 ORDER BY last DESC, slug LIMIT -1 OFFSET ?2)", kind, MaxTallies)
	})
}

// Of returns what is counted of a kind, by slug.
func (s Tallies) Of(ctx context.Context, kind string) (all map[string]Tallied, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all = map[string]Tallied{}
		return tx.Each("SELECT slug, n, last FROM tallies WHERE kind = ?", func(r sealedfile.Row) error {
			all[r.Text(0)] = Tallied{N: r.Int(1), Last: time.UnixMilli(r.Int(2)).UTC()}
			return nil
		}, kind)
	})
	return all, err
}

// Forget forgets what is counted of a kind for the memories.
func (s Tallies) Forget(ctx context.Context, kind string, slugs ...string) error {
	if err := tallied(kind, slugs); err != nil || len(slugs) == 0 {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, slug := range slugs {
			if err := tx.Exec("DELETE FROM tallies WHERE kind = ? AND slug = ?", kind, slug); err != nil {
				return err
			}
		}
		return nil
	})
}

func tallied(kind string, slugs []string) error {
	if len(slugs) > maxAtOnce {
		return fmt.Errorf("%w: %d slugs at once", ErrTooLarge, len(slugs))
	}
	return fits(append([]string{kind}, slugs...)...)
}
