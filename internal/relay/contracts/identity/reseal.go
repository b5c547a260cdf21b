package identity

import (
	"context"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/store"
)

// Sealed keeps everything that is sealed with the master key; *sqlite.Store
// implements it.
type Sealed interface {
	// MasterKey returns the check value of the master key that was in use last,
	// whether or not anything is sealed with it; nil before there was one.
	MasterKey(ctx context.Context) (check []byte, err error)
	// Reseal seals everything anew, under another master key: again takes each
	// value and returns its replacement.
	Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error)
}

// Register adapts the store to a change of the master key.
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
