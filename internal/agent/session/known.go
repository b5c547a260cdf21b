package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/state"
	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// known is what this machine knows of the pair's memory beside what relays show: the
// state's newest events, and the heads of the local copy.
type known struct {
	s *Session

	mu    sync.Mutex
	state *state.State    // what it opened; nil while it has not, or uses another's
	copy  *localcopy.Copy // the same

	acting sync.Mutex
	acts   acts
}

// knownOf returns what is known of a pair: only of the session's own.
func (s *Session) knownOf(_ *client.Client, agent, owner string) client.Known {
	if m := s.Memory; m == nil || m.Agent() != agent || m.Owner() != owner || m.Reversed() {
		return nil
	}
	return s.known
}

// close ends the use of what was opened.
func (k *known) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state != nil {
		_ = k.state.Close()
	}
	if k.copy != nil {
		_ = k.copy.Leave()
	}
	k.state, k.copy = nil, nil
}

// openShare is the part of an operation's time for which a file is waited for that another
// process holds.
const openShare = 0.4

// heads is the state's part; nil where no state is kept, or one of a later version.
func (k *known) heads(ctx context.Context) (*state.Heads, error) { return k.opened(ctx, false) }

// opened is heads; begin begins a state where none is.
func (k *known) opened(ctx context.Context, begin bool) (*state.Heads, error) {
	if k.s.live != nil && k.s.live.state != nil {
		return &k.s.live.state.Heads, nil
	}
	if !k.s.Keeps() {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == nil {
		if !begin && !pairOf(k.s.Memory.Memory).Kept(k.s.o.State) {
			return nil, nil
		}
		soon, done := patiently(ctx, k.s, openShare)
		opened, err := k.s.OpenState(soon, k.s.o.Note)
		done(err)
		if errors.Is(err, sealedfile.ErrNewer) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		k.state = opened
		if kept, _ := k.onDisk(ctx); kept != nil {
			place(ctx, &opened.Heads, kept)
		}
	}
	return &k.state.Heads, nil
}

// kept is the local copy; nil where there is none, or one of a later version.
func (k *known) kept(ctx context.Context) (*localcopy.Copy, error) {
	if l := k.s.Copies.open.Load(); l != nil && (l.OnDisk() || k.s.o.NoDisk) {
		return l.Copy, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.onDisk(ctx)
}

// onDisk opens the copy on disk; the caller holds mu.
func (k *known) onDisk(ctx context.Context) (*localcopy.Copy, error) {
	if k.copy == nil {
		if _, err := k.s.Copies.options(); err != nil {
			return nil, nil // there is no place for one
		}
		soon, done := patiently(ctx, k.s, openShare)
		opened, err := k.s.Copies.OnDisk(soon)
		done(err)
		if errors.Is(err, sealedfile.ErrNewer) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		k.copy = opened
	}
	return k.copy, nil
}

// readAtOnce is how many addresses are read in one transaction.
const readAtOnce = 1000

// At implements client.Known.
func (k *known) At(ctx context.Context, d string) (client.Newest, error) {
	all, err := k.Those(ctx, []string{d})
	return all[d], err
}

func addresses(all []client.Newest) []string {
	ds := make([]string, len(all))
	for i, n := range all {
		ds[i] = n.D
	}
	return ds
}

// Those implements client.Known.
func (k *known) Those(ctx context.Context, ds []string) (map[string]client.Newest, error) {
	heads, headsErr := k.heads(ctx)
	kept, keptErr := k.kept(ctx)
	out := make(map[string]client.Newest, len(ds))
	for some := range slices.Chunk(ds, readAtOnce) {
		at, lasts := map[string]state.Address{}, map[string]localcopy.Last{}
		if heads != nil && headsErr == nil {
			at, headsErr = heads.Those(ctx, some)
		}
		if kept != nil && keptErr == nil {
			lasts, keptErr = kept.Those(ctx, some)
		}
		if ctx.Err() != nil {
			break // what is known of these is not whole
		}
		for _, d := range some {
			out[d] = k.newest(at[d], lasts[d])
		}
	}
	return out, cmp.Or(headsErr, keptErr, ctx.Err())
}

// All implements client.Known.
func (k *known) All(ctx context.Context) (map[string]client.Newest, error) {
	all := map[string]state.Address{}
	heads, err := k.heads(ctx)
	if heads != nil && err == nil {
		all, err = heads.All(ctx)
	}
	out := make(map[string]client.Newest, len(all))
	kept, keptErr := k.kept(ctx)
	if kept != nil && keptErr == nil {
		var lasts []localcopy.Last
		lasts, keptErr = kept.Newest(ctx)
		for _, l := range lasts {
			out[l.D] = k.newest(all[l.D], l)
			delete(all, l.D)
		}
	}
	for d, at := range all {
		out[d] = k.newest(at, localcopy.Last{})
	}
	return out, cmp.Or(err, keptErr)
}

// Keep implements client.Known: where the copy alone has the version, the state keeps it
// too, from then on.
func (k *known) Keep(ctx context.Context, at client.Newest) error {
	heads, err := k.opened(ctx, true)
	if err != nil || heads == nil {
		return err
	}
	there, err := heads.At(ctx, at.D)
	if h := there.Head; err != nil || h.ID == at.ID && len(h.Event) > 0 {
		return err
	}
	expires, _ := nipae.Expiration(at.Event)
	return keep(ctx, heads, []localcopy.Last{{D: at.D, ID: at.ID, CreatedAt: at.At, Tombstone: at.Tombstone, Expires: expires, Event: at.Event}})
}

// clocksDiffer is by how many seconds a relay may drop what expires before this machine's
// clock says so.
const clocksDiffer = 60

// newest is what is known of an address, by the state and by the copy.
func (k *known) newest(at state.Address, last localcopy.Last) client.Newest {
	h := at.Head
	n := client.Newest{D: h.D, ID: h.ID, At: h.At, Tombstone: h.Tombstone, Open: at.Open}
	expires := h.Expires
	if last.ID != "" && (h.ID == "" || last.CreatedAt > h.At || last.CreatedAt == h.At && last.ID <= h.ID) {
		n = client.Newest{D: last.D, ID: last.ID, At: last.CreatedAt, Tombstone: last.Tombstone, Event: last.Event, Open: at.Open}
		expires = last.Expires
		at.Head = state.Head{ID: last.ID, At: last.CreatedAt, Event: h.Event}
	}
	if n.Event == nil && len(h.Event) > 0 && h.ID == n.ID {
		if ev, err := wire.ParseEvent(h.Event); err == nil && wire.Verify(ev) == nil {
			n.Event = ev
		}
	}
	now := k.s.Client.Now()
	switch why := at.Lost(); {
	case expires > 0 && expires <= now:
		return client.Newest{Open: at.Open, Ended: n.At}
	case why == state.Accepted, why == state.Deleted, expires > 0 && expires <= now+clocksDiffer:
		return client.Newest{Open: at.Open}
	case why == state.Removed, why == state.Expired:
		for _, l := range at.Losses {
			if l.Why == why && l.At >= n.At {
				n.Removed = client.Removal{Relay: l.Relay, Expired: why == state.Expired}
			}
		}
	}
	return n
}
