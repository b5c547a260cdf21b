package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/keys/keyfile"
	"engramd/nips/niptemp"
)

// Change reports a change of the relay's key.
type Change struct {
	Old  string   `json:"old"`            // public keys, in hex
	New  string   `json:"new"`            // the relay's key now
	Kept []string `json:"kept,omitempty"` // former keys whose secrets stay in the file
}

// Rotate makes a new key the relay's and the present one a former one, revoked
// if revoke says so. It is durable when Rotate returns. The secret of a former
// key stays as long as a contract without an end names it. The error is ErrEnv
// where the key is not in a file.
func (r *Ring) Rotate(ctx context.Context, revoke bool) (Change, error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.place.path == "" {
		return Change{}, r.place.wrap(fmt.Errorf("%w: put a new key (openssl rand -hex 32) before the present one in it, on a line of its own, stop engramd, and run engramd relay-key adopt", ErrEnv))
	}
	before := r.held()
	if len(before) >= maxKeys {
		return Change{}, r.place.wrap(fmt.Errorf("%d former keys are named by contracts that have no end yet; that many cannot be kept", len(before)-1))
	}
	made, err := makeKey(nil)
	if err != nil {
		return Change{}, r.place.wrap(err)
	}
	if made.chain = before[0].chain; !revoke {
		if made.chain, err = before[0].handOver(made.pubkey); err != nil {
			return Change{}, r.place.wrap(err)
		}
	}
	keys := append([]Key{made}, before...)
	if err := r.place.stage(keys); err != nil {
		return Change{}, r.place.wrap(err)
	}
	// From here on the database decides. Should it not say what became of the
	// commit, the next start finds out.
	if err := r.reg.SetRelayKey(ctx, made.pubkey, revoke); err != nil {
		return Change{}, fmt.Errorf("relay key: %w", err)
	}
	r.keys.Store(&keys)
	c := Change{Old: before[0].pubkey, New: made.pubkey}
	if err := keyfile.Switch(r.place.path); err != nil {
		return c, r.place.wrap(fmt.Errorf("the new key is in use; the next start puts its file in place: %w", err))
	}
	if err := r.prune(ctx); err != nil {
		return c, r.place.wrap(fmt.Errorf("the new key is in use, but former secrets that are not needed are still in the file: %w", err))
	}
	c.Kept = r.Former()
	return c, nil
}

// handOver returns the chain with the key's statement that another is its
// successor. Of a long one the oldest are dropped.
func (k Key) handOver(to string) (chain string, err error) {
	ev := niptemp.Handover(to)
	if err := k.Sign(&ev); err != nil {
		return "", err
	}
	lines := append(slices.Collect(strings.Lines(k.chain)), string(wire.AppendEvent(nil, &ev))+"\n")
	return strings.Join(lines[max(0, len(lines)-maxKeys):], ""), nil
}

// Handovers returns the statements by which former keys that are trusted handed
// over to their successors, the oldest first.
func (r *Ring) Handovers(ctx context.Context) (statements []*nostr.Event, err error) {
	trusted, err := r.Trusted(ctx)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(r.Key().chain) {
		ev, err := wire.ParseEvent([]byte(strings.TrimSpace(line)))
		if err == nil && wire.Verify(ev) == nil && slices.Contains(trusted, ev.PubKey) {
			statements = append(statements, ev)
		}
	}
	return statements, nil
}

// Former returns the former keys, in hex, whose secrets are kept.
func (r *Ring) Former() []string {
	var out []string
	for _, k := range r.held()[1:] {
		out = append(out, k.pubkey)
	}
	return out
}

// Prune removes the secrets of former keys from the file once no contract that
// has not ended names them. In an environment variable they stay.
func (r *Ring) Prune(ctx context.Context) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	if err := r.prune(ctx); err != nil {
		return r.place.wrap(err)
	}
	return nil
}

func (r *Ring) prune(ctx context.Context) error {
	held := r.held()
	if r.place.path == "" || len(held) == 1 {
		return nil
	}
	kept := []Key{held[0]}
	for _, k := range held[1:] {
		n, err := r.reg.ContractsNaming(ctx, k.pubkey)
		if err != nil {
			return err
		}
		if n > 0 {
			kept = append(kept, k)
		}
	}
	if len(kept) == len(held) {
		return nil
	}
	if err := r.place.put(kept); err != nil {
		return err
	}
	r.keys.Store(&kept)
	return nil
}

// Revoke stops trusting a former key, in hex.
func (r *Ring) Revoke(ctx context.Context, pubkey string) error {
	if pubkey == r.PubKey() {
		return errors.New("this is the relay's key: engramd relay-key rotate --revoke gives it another one and revokes this")
	}
	revoked, err := r.reg.RevokeRelayKey(ctx, pubkey)
	if err == nil && !revoked {
		err = errors.New("this is no former key of the relay, or it was revoked before")
	}
	return err
}

// ErrNeeded means that contracts that have not ended name a key whose secret
// would be given up.
var ErrNeeded = errors.New("contracts that have no end yet name the present key")

// Adopt makes what the file or the variable holds the relay's key, where the
// database knows another one; the latter becomes a former one, revoked if
// revoke says so. With lost, a missing file of the data folder is made anew,
// and the present key may be given up although contracts without an end name it
// (else ErrNeeded). Nobody else may use the database meanwhile.
func Adopt(ctx context.Context, o Options, reg Register, lost, revoke bool) (Change, error) {
	p := o.place()
	known, err := inUse(ctx, reg)
	if err != nil {
		return Change{}, err
	}
	if known == "" {
		return Change{}, errors.New("the database knows no relay key yet: engramd serve begins with one")
	}
	if Look(o, known) == nil {
		return Change{}, p.wrap(errors.New("this is the relay's key already"))
	}
	keys, err := p.keys()
	missing := errors.Is(err, os.ErrNotExist) && p.path != ""
	switch {
	case missing && !lost:
		return Change{}, p.wrap(fmt.Errorf("%w: put the file back, or give --lost to make another key", ErrLost))
	case !missing && err != nil:
		return Change{}, p.wrap(err)
	}
	if !lost && !slices.ContainsFunc(keys, func(k Key) bool { return k.pubkey == known }) {
		n, err := reg.ContractsNaming(ctx, known)
		if err != nil {
			return Change{}, err
		}
		if n > 0 {
			return Change{}, p.wrap(fmt.Errorf("%w: give its secret below the new one, on a line of its own, or --lost", ErrNeeded))
		}
	}
	if missing {
		if keys, err = p.create(nil); err != nil {
			return Change{}, p.wrap(err)
		}
	}
	if err := reg.SetRelayKey(ctx, keys[0].pubkey, revoke); err != nil {
		return Change{}, fmt.Errorf("relay key: %w", err)
	}
	c := Change{Old: known, New: keys[0].pubkey}
	for _, k := range keys[1:] {
		c.Kept = append(c.Kept, k.pubkey)
	}
	return c, nil
}
