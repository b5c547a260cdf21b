package session

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	memorystate "engramd/internal/memory/state"
	"engramd/internal/platform/files"
	"engramd/nips/nipae"
)

// Sent says what came of sending.
type Sent struct {
	Written int    // slugs
	Rebased int    // of these: made on a newer text than the one that was known
	Apart   int    // slugs that met a newer text: see internal/memory/apart
	Left    int    // writes that wait still
	Reason  string // why one of these was not sent
}

// ErrWaits means that a write that waits at the slug goes first, and cannot be sent.
var ErrWaits = errors.New("a write to this memory waits on this machine, and goes first (engramctl outbox ls)")

// flush sends what waits at a slug, before that is read or written. What cannot be sent
// waits still: ErrWaits, and what kept it. What has expired holds up no other where a
// relay answered.
func (o *Outbox) flush(ctx context.Context, slug nipae.Slug) error {
	if w, _ := o.last(ctx, slug); w.N == 0 {
		return nil
	}
	_, err := o.Send(ctx, slug)
	switch w, stands := o.last(ctx, slug); {
	case w.N > 0 && err != nil:
		return fmt.Errorf("%w: %w", ErrWaits, err)
	case stands:
		return ErrWaits
	}
	return nil
}

// Send sends what waits, in its order; "" is at every slug. What waits at one slug is
// one write. Of several processes one sends: others wait for it as long as ctx lasts.
// The error is that of a relay's silence, and of the state; what is refused is noted
// (Queued.Reason), and the rest goes on.
func (o *Outbox) Send(ctx context.Context, slug nipae.Slug) (out Sent, err error) {
	state := o.state(ctx)
	if state == nil || !o.s.Memory.Writable() {
		return out, nil
	}
	unlock, err := o.lock(ctx, state)
	if err != nil {
		return out, err
	}
	defer unlock()
	all, err := decoded(state.Outbox.All(ctx, string(slug)))
	all = o.due(ctx, state, all)
	left := map[nipae.Slug]bool{} // where one waits still: what comes after it does too, unless that begins anew
	for _, c := range chains(all) {
		c.o, c.state, c.out = o, state, &out
		if err == nil && !left[c.slug] {
			err = c.send(ctx)
		}
		if err != nil {
			break
		}
		left[c.slug] = left[c.slug] || c.left && !o.expired(c.last())
	}
	mark, unknown := state.Outbox.Mark(context.WithoutCancel(ctx))
	out.Left = int(mark.Count)
	return out, cmp.Or(err, unknown)
}

// lockPoll is how often it is looked whether another process has done with sending.
const lockPoll = 20 * time.Millisecond

func (o *Outbox) lock(ctx context.Context, state *memorystate.State) (unlock func(), err error) {
	writer, err := state.Writer(ctx)
	if err != nil {
		return nil, err
	}
	f, err := files.OpenNoFollow(filepath.Join(o.s.o.State, hex.EncodeToString(writer[:])+".outbox.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the outbox: %w", err)
	}
	if err := files.Lock(ctx, f, lockPoll); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the outbox: %w", err)
	}
	return func() { _ = files.Unlock(f) }, nil
}

// String says it in a line; "" for nothing.
func (s Sent) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{s.Written, "sent"}, {s.Rebased, "of them made on a newer text"}, {s.Apart, "met a newer text, and is kept beside it"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}
