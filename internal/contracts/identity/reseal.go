package identity

import (
	"context"

	"engramd/internal/contracts"
	"engramd/internal/contracts/vault"
	"engramd/internal/store"
)

// Register is the store as a change of the master key takes it.
type Register struct{ *store.Store }

var _ vault.Register = Register{}

// Reseal seals kept keys and private entries anew, each for its row.
func (r Register) Reseal(ctx context.Context, was, now []byte, again func(sealed, row []byte) ([]byte, error)) (n int, err error) {
	return r.Store.Reseal(ctx, was, now, func(v store.Sealed) ([]byte, error) {
		if v.Agent != nil {
			return again(v.Value, row(v.Agent.ID, v.Agent.PubKey))
		}
		return again(v.Value, contracts.PlaceOf(v.Contract, v.Entry))
	})
}
