package identity

import (
	"context"

	"engramd/internal/contracts"
	"engramd/internal/contracts/vault"
	"engramd/internal/store"
)

// Sealed is where everything that is sealed with the master key is kept;
// *sqlite.Store is one.
type Sealed interface {
	// MasterKey is the check value of the master key that was in use last,
	// whether or not anything is sealed with it; nil before there was one.
	MasterKey(ctx context.Context) (check []byte, err error)
	// Reseal seals everything anew, under another master key: again is given
	// each value and returns the one to take its place.
	Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error)
}

// Register is the store as a change of the master key takes it.
type Register struct{ Sealed }

var _ vault.Register = Register{}

// Reseal seals kept keys and private entries anew, each for its row.
func (r Register) Reseal(ctx context.Context, was, now []byte, again func(sealed, row []byte) ([]byte, error)) (n int, err error) {
	return r.Sealed.Reseal(ctx, was, now, func(v store.Sealed) ([]byte, error) {
		if v.Agent != nil {
			return again(v.Value, row(v.Agent.ID, v.Agent.PubKey))
		}
		return again(v.Value, contracts.PlaceOf(v.Contract, v.Entry))
	})
}
