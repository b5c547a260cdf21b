// Package keys keeps the relay's identity key, with which the relay signs
// in its own name and answers the AUTH challenges of further relays. It is
// "self" in the relay's NIP-11 document.
//
// The secret is in a file in the data folder, in one that the operator names,
// or in an environment variable, and never in the database. The database knows
// the public halves: the key in use and the former ones, each trusted or
// revoked. A start without the secret of the key in use, or with another,
// fails. The first line of the file is the key; below it are the secrets of
// former keys, for as long as a contract that has not ended names them as its
// expirer, or for its order of arrival.
//
// A rotation writes the new file beside the old one, commits the new key to the
// database, and puts the file in its place; after a crash the database decides
// at the next start which of the two counts.
package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/store"
)

// Register keeps the public halves of the relay's keys; *sqlite.Store
// implements it.
type Register interface {
	RelayKeys(ctx context.Context) ([]store.RelayKey, error)
	SetRelayKey(ctx context.Context, pubkey string, revoke bool) error
	RevokeRelayKey(ctx context.Context, pubkey string) (bool, error)
	ContractsNaming(ctx context.Context, pubkey string) (int, error)
}

// Options say where the key is.
type Options struct {
	Setting string                           // Auto, "env:NAME" or a path; "" is Auto
	Dir     string                           // data folder
	Env     func(name string) (string, bool) // environment variables, such as os.LookupEnv
	// Seed returns the 32 bytes of the first key, which is made if the database
	// knows none; if Seed is nil or returns nothing the key is random.
	Seed func() ([]byte, error)
}

// Ring holds the relay's key and the former ones whose secrets are kept. Make
// one with Open. Methods may be called by several goroutines.
type Ring struct {
	o        Options
	place    place
	reg      Register
	keys     atomic.Pointer[[]Key] // [0] is the relay's
	changing sync.Mutex            // held while the keys change
}

// ErrNotHeld means that the secret of a key is not here.
var ErrNotHeld = errors.New("the secret of this relay key is not here")

// Open finds the relay's key, or makes it if the database knows none and the
// setting is Auto, and finishes an interrupted rotation. It removes the secrets
// of former keys from the file once no contract that has not ended names them.
//
// Errors name the file or the variable, and wrap ErrKey, ErrOther, ErrLost,
// ErrUnset, keyfile.ErrExposed or what the file system or the database said.
func Open(ctx context.Context, o Options, reg Register) (*Ring, error) {
	r := &Ring{o: o, place: o.place(), reg: reg}
	known, err := inUse(ctx, reg)
	if err != nil {
		return nil, err
	}
	keys, err := r.find(known)
	if err != nil {
		return nil, err
	}
	if known == "" {
		if err := reg.SetRelayKey(ctx, keys[0].pubkey, false); err != nil {
			return nil, fmt.Errorf("relay key: %w", err)
		}
	}
	r.keys.Store(&keys)
	return r, nil
}

// Beside returns the ring of a process that reads beside the relay: it finds
// the keys as Open does, and changes nothing. Without the secret the ring knows
// the trusted keys but cannot sign; then Beside returns it with an error that
// says why.
func Beside(ctx context.Context, o Options, reg Register) (*Ring, error) {
	r := &Ring{o: o, place: o.place(), reg: reg}
	known, err := inUse(ctx, reg)
	if err != nil {
		return r, err
	}
	if known == "" {
		return r, r.place.wrap(errors.New("this relay has no key yet: it makes one when it starts"))
	}
	keys, _, err := r.place.current(known)
	if err == nil {
		r.keys.Store(&keys)
	}
	return r, r.place.wrap(err)
}

// inUse returns the relay's key as the database knows it; "" for none.
func inUse(ctx context.Context, reg Register) (string, error) {
	all, err := reg.RelayKeys(ctx)
	if err != nil {
		return "", fmt.Errorf("relay key: %w", err)
	}
	if len(all) == 0 || all[0].Until != 0 {
		return "", nil
	}
	return all[0].PubKey, nil
}

// find reads the keys, of which the first must be the known one if there is
// one. It puts in place what a rotation left beside them, or removes it.
func (r *Ring) find(known string) ([]Key, error) {
	keys, staged, err := r.place.current(known)
	switch {
	case errors.Is(err, os.ErrNotExist) && known == "" && r.place.auto:
		return r.begin()
	case staged:
		err = keyfile.Switch(r.place.path)
	case err == nil && r.place.path != "":
		err = keyfile.Unstage(r.place.path) // of a rotation that was not committed
	}
	return keys, r.place.wrap(err)
}

// begin makes the key at the first start.
func (r *Ring) begin() (keys []Key, err error) {
	var seed []byte
	if r.o.Seed != nil {
		if seed, err = r.o.Seed(); err != nil {
			return nil, r.place.wrap(err)
		}
		defer clear(seed)
	}
	keys, err = r.place.create(seed)
	return keys, r.place.wrap(err)
}

// misfit returns what is wrong with keys, or with reading them, if the database
// knows another one.
func misfit(keys []Key, err error, known string) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w (the database knows %s): put the file back, from where it was kept with the backups; if it is lost, engramd relay-key adopt --lost makes another one", ErrLost, brief(known))
	case err != nil:
		return err
	case slices.ContainsFunc(keys, func(k Key) bool { return k.pubkey == known }):
		return fmt.Errorf("%w: the database knows %s, a former one here, and is older than this file: put back the key of that time, or go on with this one by engramd relay-key adopt", ErrOther, brief(known))
	}
	return fmt.Errorf("%w (the database knows %s): give back the one that was in use, or go on with this one by engramd relay-key adopt", ErrOther, brief(known))
}

// brief returns enough of a key to recognise it.
func brief(key string) string { return key[:min(len(key), 16)] + "…" }

// Look returns nil if Open would find the key that the database knows, and
// changes nothing. known is that key in hex, "" if there is none.
func Look(o Options, known string) error {
	p := o.place()
	_, _, err := p.current(known)
	if known == "" && errors.Is(err, os.ErrNotExist) && p.auto {
		return nil // one is made at the next start
	}
	return p.wrap(err)
}

// Held returns the public keys, in hex, whose secrets are in the file or the
// variable; none where it cannot be read.
func Held(o Options) (pubkeys []string) {
	keys, err := o.place().keys()
	if err != nil {
		return nil
	}
	for _, k := range keys {
		pubkeys = append(pubkeys, k.pubkey)
	}
	return pubkeys
}

// Source reports where the key is: a path, or "environment variable NAME".
func (r *Ring) Source() string { return r.place.name }

// Source reports the same for options.
func Source(o Options) string { return o.place().name }

func (r *Ring) held() []Key {
	if r == nil || r.keys.Load() == nil {
		return nil
	}
	return *r.keys.Load()
}

// PubKey returns the relay's key, 64 lower-case hex digits; "" for a nil Ring.
func (r *Ring) PubKey() string { return r.Key().pubkey }

// Key returns the relay's key as it is now; it stays the same after a rotation.
func (r *Ring) Key() Key {
	if keys := r.held(); len(keys) > 0 {
		return keys[0]
	}
	return Key{}
}

// Sign signs an event with the relay's key: it sets pubkey, id and signature.
// It can be used as a bundle.Signer.
func (r *Ring) Sign(ev *nostr.Event) error { return r.Key().Sign(ev) }

// SignAs signs an event with the relay's key or a former one whose secret is
// kept, by its public key in hex, for contracts that name it. The error is
// ErrNotHeld.
func (r *Ring) SignAs(pubkey string, ev *nostr.Event) error {
	for _, k := range r.held() {
		if k.pubkey == pubkey {
			return k.Sign(ev)
		}
	}
	return ErrNotHeld
}

// Holds reports whether the secret of a public key in hex, the relay's or a
// former one, is here.
func (r *Ring) Holds(pubkey string) bool {
	return slices.ContainsFunc(r.held(), func(k Key) bool { return k.pubkey == pubkey })
}

// Trusted returns the public keys, in hex, whose signatures are the relay's
// own: the one in use, and the former ones that were not revoked.
func (r *Ring) Trusted(ctx context.Context) (trusted []string, err error) {
	all, err := r.reg.RelayKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("relay keys: %w", err)
	}
	for _, k := range all {
		if k.Revoked == 0 {
			trusted = append(trusted, k.PubKey)
		}
	}
	return trusted, nil
}
