package sqlite

import (
	"context"

	"engramd/internal/store"
)

// Reseal seals everything anew, under another master key: again is given each
// value and returns the one to take its place. That, and the check value of the
// new key in place of that of the present one, is one commit. n is how many
// values there were. The error is ErrOtherVault when the present key is not the
// one of check value was, else what again says.
func (s *Store) Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error) {
	err = s.apart(ctx, func(w *writer) (err error) {
		n, err = w.parts.identities.reseal(ctx, was, now, again)
		return err
	})
	return n, err
}
