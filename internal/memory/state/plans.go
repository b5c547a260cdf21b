package state

import (
	"context"
	"fmt"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Plan is something that was prepared and is to be carried out, in the words of
// whoever prepared it.
type Plan struct {
	ID      string
	Data    []byte
	Expires time.Time
}

// Put keeps a plan open, in place of the one with its id. ErrFull says that
// there are too many.
func (s Plans) Put(ctx context.Context, p Plan) error {
	if err := fits(p.ID); err != nil {
		return err
	}
	if len(p.Data) > MaxPlan {
		return fmt.Errorf("%w: a plan of %d bytes", ErrTooLarge, len(p.Data))
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		tx.Exec("DELETE FROM plans WHERE expires <= ?", s.now().UnixMilli())
		tx.Exec("INSERT INTO plans VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires = excluded.expires",
			p.ID, append([]byte{}, p.Data...), p.Expires.UnixMilli())
		if tx.Int("SELECT count(*) FROM plans") > MaxPlans {
			return ErrFull
		}
		return nil
	})
}

// Get returns an open plan, or ErrNoPlan.
func (s Plans) Get(ctx context.Context, id string) (Plan, error) {
	all, err := s.list(ctx, id)
	if err != nil {
		return Plan{}, err
	}
	if len(all) == 0 {
		return Plan{}, ErrNoPlan
	}
	return all[0], nil
}

// All returns the open plans; the first to expire comes first.
func (s Plans) All(ctx context.Context) ([]Plan, error) { return s.list(ctx, "") }

func (s Plans) list(ctx context.Context, id string) ([]Plan, error) {
	return list(ctx, s.db, func(r sealedfile.Row) Plan {
		return Plan{ID: r.Text(0), Data: r.Blob(1), Expires: time.UnixMilli(r.Int(2)).UTC()}
	},
		"SELECT id, data, expires FROM plans WHERE expires > ?1 AND ?2 IN ('', id) ORDER BY expires, id", s.now().UnixMilli(), id)
}

// Close ends a plan. Of several who close it one succeeds, the others get
// ErrNoPlan.
func (s Plans) Close(ctx context.Context, id string) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		tx.Exec("DELETE FROM plans WHERE id = ? AND expires > ?", id, s.now().UnixMilli())
		if tx.Changed() == 0 {
			return ErrNoPlan
		}
		return nil
	})
}
