package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"engramd/internal/relay/keys/keyfile"
)

// ErrEnv means that the key is in an environment variable, which the program
// cannot change.
var ErrEnv = errors.New("the master key is in an environment variable, which only you can change: put it into a file of mode 0600, name that in contracts.master_key, rotate, and put the new key into the variable")

// Register is the database with the sealed values.
type Register interface {
	// MasterKey returns the check value of the master key in use.
	MasterKey(ctx context.Context) ([]byte, error)
	// Reseal calls again for every value, with its row, and stores the results
	// and the check value now in place of was, in one commit. n is the number
	// of values.
	Reseal(ctx context.Context, was, now []byte, again func(sealed, row []byte) ([]byte, error)) (n int, err error)
}

// Rotated reports a change of the master key.
type Rotated struct {
	Sealed int    `json:"sealed"` // values that were sealed anew
	Place  string `json:"place"`  // of the new key
	Former string `json:"former"` // path of the former one, for backups made before
}

// Rotate makes a new master key and seals everything in the database anew. The
// change is durable when Rotate returns; calls that seal meanwhile wait. The
// error is ErrOff, ErrEnv, or says what went wrong; then the former key stays,
// unless the error says otherwise.
func (v *Vault) Rotate(ctx context.Context, reg Register) (done Rotated, err error) {
	if err := v.On(); err != nil {
		return done, fmt.Errorf("there is no master key to change: %w", err)
	}
	wrap := func(err error) error { return fmt.Errorf("master key, %s: %w", v.source, err) }
	if v.path == "" {
		return done, wrap(ErrEnv)
	}
	v.sealing.Lock()
	defer v.sealing.Unlock()
	was := v.keys.Load().now
	done.Place = v.path
	if done.Former, err = v.keepFormer(was); err != nil {
		return done, wrap(err)
	}
	next, err := v.stageNext(was)
	if err != nil {
		return done, wrap(errors.Join(err, os.Remove(done.Former)))
	}
	again := func(sealed, row []byte) ([]byte, error) {
		plain, err := v.Open(sealed, row)
		if err != nil {
			return nil, err
		}
		defer clear(plain)
		return next.seal(plain, row)
	}
	// From here on the database decides.
	if done.Sealed, err = reg.Reseal(ctx, was.check[:], next.check[:], again); err != nil {
		known, unknown := reg.MasterKey(context.WithoutCancel(ctx))
		switch {
		case unknown != nil:
			return done, wrap(fmt.Errorf("it is not known whether the database has the new key; the next start finds out: %w", err))
		case !bytes.Equal(known, next.check[:]):
			return done, wrap(errors.Join(err, keyfile.Unstage(v.path), os.Remove(done.Former)))
		}
	}
	v.keys.Store(&keys{now: next, before: was})
	if err := keyfile.Switch(v.path); err != nil {
		return done, wrap(fmt.Errorf("the new key is in use; the next start puts its file in place: %w", err))
	}
	return done, nil
}

// keepFormer copies the key file beside itself, under a name that identifies
// the key in it.
func (v *Vault) keepFormer(was *key) (path string, err error) {
	master, err := readFile(v.path)
	if err != nil {
		return "", err
	}
	defer clear(master)
	k, err := newKey(master, v.random)
	if err != nil {
		return "", err
	}
	if k.check != was.check {
		return "", fmt.Errorf("%w: the file was changed since the start", ErrWrongKey)
	}
	path = fmt.Sprintf("%s.former-%x", v.path, was.mark())
	text := fileText(master)
	defer clear(text)
	if err := keyfile.Create(path, text); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return path, nil
}

// stageNext makes a new key and writes it durably beside the file.
func (v *Vault) stageNext(was *key) (*key, error) {
	master := make([]byte, KeySize)
	defer clear(master)
	for {
		if _, err := io.ReadFull(v.random, master); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		k, err := newKey(master, v.random)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(k.mark(), was.mark()) {
			continue // a sealed value would not say which of the two keys it needs
		}
		text := fileText(master)
		defer clear(text)
		return k, keyfile.Stage(v.path, text)
	}
}
