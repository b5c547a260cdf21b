package state

import (
	"cmp"
	"context"

	"engramd/internal/memory/state/sealedfile"
)

// TakenOver is a proposal of the owner's that was taken over unasked.
type TakenOver struct {
	ID   string // of its event
	Slug string
	Was  string // id of the version that it replaced; "" for none
	Told bool   // a session was told of it
}

// Keep notes proposals that were taken over, or that a session was told of them.
func (s Owners) Keep(ctx context.Context, all ...TakenOver) error {
	for _, t := range all {
		if err := fits(t.ID, t.Slug, cmp.Or(t.Was, t.ID)); err != nil {
			return err
		}
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, t := range all {
			tx.Exec("INSERT INTO accepted VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET told = max(told, ?5)", t.ID, t.Slug, t.Was, s.now().UnixMilli(), t.Told)
		}
		return tx.Exec("DELETE FROM accepted WHERE id IN (SELECT id FROM accepted ORDER BY at DESC, id LIMIT -1 OFFSET ?)", MaxAccepted)
	})
}

// All returns what was taken over, the oldest first.
func (s Owners) All(ctx context.Context) ([]TakenOver, error) {
	return list(ctx, s.db, func(r sealedfile.Row) TakenOver { return TakenOver{r.Text(0), r.Text(1), r.Text(2), r.Int(3) != 0} },
		"SELECT id, slug, was, told FROM accepted ORDER BY at, id")
}
