package sqlite

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/admin"
	"engramd/internal/relay/store/sqlite/contracts"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/identities"
	"engramd/internal/relay/store/sqlite/outbox"
)

type (
	contractStore = contracts.Store
	identityStore = identities.Store
	outboxStore   = outbox.Store
	adminStore    = admin.Store
)

// parts makes what reads the participants' tables, and says what they do for
// events.
func (s *Store) parts(db *engine.DB, orders store.Orders) apply.Parts {
	s.contractStore = contracts.NewStore(db, orders, query.Withdrawal)
	s.identityStore = identities.NewStore(db, orders, contracts.PrivateEntries{})
	s.outboxStore = outbox.NewStore(db, orders)
	s.adminStore = admin.NewStore(db, orders)
	return apply.Parts{
		Write:    s.write,
		Checks:   []func(context.Context, *engine.Conn, *store.Report) error{contracts.Check, identities.Check},
		Arrivals: s.WithArrivals,
	}
}

// write makes what writes them.
func (s *Store) write(w *engine.Writer, h apply.Host) apply.Participants {
	s.identities = identities.NewWriter(w, contracts.PrivateEntries{})
	return apply.Participants{
		Admin:      admin.NewWriter(w, h),
		Outbox:     outbox.NewWriter(w, h.Log()),
		Identities: s.identities,
		Contracts:  contracts.NewWriter(w, h, h.Live),
	}
}

// Reseal seals everything anew, under another master key: again is given each
// value and returns the one to take its place. That, and the check value of the
// new key in place of that of the present one, is one commit. n is how many
// values there were. The error is ErrOtherVault when the present key is not the
// one of check value was, else what again says.
func (s *Store) Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error) {
	err = s.db.Apart(ctx, func(*engine.Writer) (err error) {
		n, err = s.identities.Reseal(ctx, was, now, again)
		return err
	})
	return n, err
}
