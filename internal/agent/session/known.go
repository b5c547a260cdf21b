package session

import (
	"context"
	"errors"
	"sync"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/state"
	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/wire"
)

// known is what this machine knows of the pair's memory beside what relays show: the
// state's newest events, and the heads of the local copy.
type known struct {
	s *Session

	mu    sync.Mutex
	state *state.State    // what it opened; nil while it has not, or uses another's
	copy  *localcopy.Copy // the same
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

// heads is the state's part; nil where no state is kept, or one of a later version.
func (k *known) heads(ctx context.Context) (*state.Heads, error) {
	if k.s.live != nil && k.s.live.state != nil {
		return &k.s.live.state.Heads, nil
	}
	if !k.s.Keeps() {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == nil {
		if !pairOf(k.s.Memory.Memory).Kept(k.s.o.State) {
			return nil, nil
		}
		opened, err := k.s.OpenState(ctx, k.s.o.Note)
		if errors.Is(err, sealedfile.ErrNewer) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		k.state = opened
		place(ctx, &opened.Heads, k.onDisk(ctx))
	}
	return &k.state.Heads, nil
}

// kept is the local copy; nil where there is none.
func (k *known) kept(ctx context.Context) *localcopy.Copy {
	if l := k.s.Copies.open.Load(); l != nil {
		return l.Copy
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.onDisk(ctx)
}

// onDisk opens the copy on disk; the caller holds mu.
func (k *known) onDisk(ctx context.Context) *localcopy.Copy {
	if k.copy == nil {
		opened, err := k.s.Copies.OnDisk(ctx)
		if err != nil {
			k.s.detail("what the local copy has is not known: %v", err)
		}
		k.copy = opened
	}
	return k.copy
}

// At implements client.Known.
func (k *known) At(ctx context.Context, d string) (client.Newest, error) {
	var at state.Address
	heads, err := k.heads(ctx)
	if err != nil {
		return client.Newest{}, err
	}
	if heads != nil {
		if at, err = heads.At(ctx, d); err != nil {
			return client.Newest{}, err
		}
	}
	var last localcopy.Last
	if kept := k.kept(ctx); kept != nil {
		var err error
		if last, _, err = kept.At(ctx, d); err != nil {
			k.s.detail("what the local copy has is not known: %v", err)
		}
	}
	return k.newest(at, last), nil
}

// All implements client.Known. Events stand there only where the state has them.
func (k *known) All(ctx context.Context) (map[string]client.Newest, error) {
	all := map[string]state.Address{}
	heads, err := k.heads(ctx)
	if err != nil {
		return nil, err
	}
	if heads != nil {
		if all, err = heads.All(ctx); err != nil {
			return nil, err
		}
	}
	out := make(map[string]client.Newest, len(all))
	if kept := k.kept(ctx); kept != nil {
		lasts, err := kept.Newest(ctx)
		if err != nil {
			k.s.detail("what the local copy has is not known: %v", err)
		}
		for _, l := range lasts {
			out[l.D] = k.newest(all[l.D], l)
			delete(all, l.D)
		}
	}
	for d, at := range all {
		out[d] = k.newest(at, localcopy.Last{})
	}
	return out, nil
}

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
	switch why := at.Lost(); {
	case why == state.Accepted, why == state.Deleted, expires > 0 && expires <= k.s.Client.Now():
		return client.Newest{Open: at.Open}
	case why == state.Removed:
		for _, l := range at.Losses {
			if l.Why == state.Removed && l.At >= n.At {
				n.Removed = l.Relay
			}
		}
	}
	return n
}
