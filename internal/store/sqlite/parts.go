package sqlite

import (
	"context"

	"engramd/internal/store"
	"engramd/internal/store/sqlite/admin"
	"engramd/internal/store/sqlite/contracts"
	"engramd/internal/store/sqlite/identities"
	"engramd/internal/store/sqlite/outbox"
)

// The methods of these are the Store's own.
type (
	contractStore = contracts.Store
	identityStore = identities.Store
	outboxStore   = outbox.Store
	adminStore    = admin.Store
)

// addParts opens what reads the participants' tables.
func (s *Store) addParts() {
	s.contractStore = contracts.NewStore(s.db, s.order, withdrawal)
	s.identityStore = identities.NewStore(s.db, s.order, contracts.PrivateEntries{})
	s.outboxStore = outbox.NewStore(s.db, s.order)
	s.adminStore = admin.NewStore(s.db, s.order)
}

// addParticipants opens what writes them.
func (w *writer) addParticipants() error {
	w.identities = identities.NewWriter(w.Writer, contracts.PrivateEntries{})
	w.parts = participants{
		admin:      admin.NewWriter(w.Writer, w),
		outbox:     outbox.NewWriter(w.Writer, w.s.log),
		identities: w.identities,
		contracts:  contracts.NewWriter(w.Writer, w, w.s.live.Load),
	}
	return w.parts.open()
}

// checks are the participants' parts of Check.
var checks = []check{contracts.Check, identities.Check}

// NextSeq is the number that the event at hand gets when it is stored.
func (w *writer) NextSeq() int64 { return w.seq + 1 }

// Reseal seals everything anew, under another master key: again is given each
// value and returns the one to take its place. That, and the check value of the
// new key in place of that of the present one, is one commit. n is how many
// values there were. The error is ErrOtherVault when the present key is not the
// one of check value was, else what again says.
func (s *Store) Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error) {
	err = s.apart(ctx, func(w *writer) (err error) {
		n, err = w.identities.Reseal(ctx, was, now, again)
		return err
	})
	return n, err
}
