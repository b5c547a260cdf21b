package follow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/memory/localcopy"
	"engramd/nips/nip77"
)

// reconcile compares sets until nothing differs. Both sides of a difference are
// looked at: what is named must come, and what is not named must not. In full, the
// relay must count as many, too: it may list less than it has.
func (p *pass) reconcile(ctx context.Context, held []nip77.Item, full bool) error {
	for round := 0; ; round++ {
		began := p.f.o.Clock()
		have, need, err := p.src.Reconcile(ctx, p.f.o.Filter, slices.Clone(held))
		if err != nil {
			return err
		}
		equal := len(have)+len(need) == 0
		if equal && full {
			if equal, err = p.counts(ctx, held); err != nil {
				return err
			}
		}
		switch {
		case equal:
			return p.confirm(ctx, began, held, full)
		case round == maxRounds, len(have)+len(need) == 0 && round > 0:
			return errUnsettled
		}
		if err := p.lose(ctx, have); err != nil {
			return err
		}
		if err := p.fetch(ctx, need); err != nil {
			return err
		}
		if held, err = p.held(ctx); err != nil {
			return err
		}
	}
}

// counts reports whether the relay counts as many as are held, if it counts.
func (p *pass) counts(ctx context.Context, held []nip77.Item) (bool, error) {
	n, err := p.src.Count(ctx, p.f.o.Filter)
	if errors.Is(err, transfer.ErrNoCount) {
		return true, nil
	}
	return n == int64(len(held)) || n == int64(len(held)+p.damaged), err // it may count what it cannot give
}

// fetch takes what the relay has and the copy has not.
func (p *pass) fetch(ctx context.Context, need [][32]byte) error {
	if len(need) == 0 {
		return nil
	}
	put := p.putter(ctx, len(need))
	_, err := p.src.Fetch(ctx, p.f.o.Filter, need, put.take)
	return cmp.Or(put.flush(), err)
}

// lostAtOnce is how many events are taken off at once: a pass that is cut off has done
// the ones before.
const lostAtOnce = 1000

// lose takes off what the relay does not even give by its id.
func (p *pass) lose(ctx context.Context, ids [][32]byte) error {
	for some := range slices.Chunk(ids, lostAtOnce) {
		gone, err := p.notGiven(ctx, some)
		if err != nil {
			return err
		}
		if len(gone) == 0 {
			continue
		}
		p.outcome.Left += len(gone)
		// A version that was of no use beside a newer one is of use without it.
		p.f.unkept.forget(p.relay)
		clear(p.useless)
		if _, err := p.f.o.Store.Lost(ctx, p.relay, gone); err != nil {
			return broken(err)
		}
	}
	return nil
}

// notGiven asks for events by their ids, and returns those that the relay does not give:
// it has not them, or they are damaged there, which it says of all that it was asked for
// at once.
func (p *pass) notGiven(ctx context.Context, ids [][32]byte) (gone [][32]byte, err error) {
	gone, err = p.src.Fetch(ctx, p.f.o.Filter, ids, func(*nostr.Event) error { return nil })
	if !client.Damaged(err) {
		return gone, err
	}
	if len(ids) == 1 {
		p.damaged++
		return ids, nil
	}
	for _, half := range [][][32]byte{ids[:len(ids)/2], ids[len(ids)/2:]} {
		some, err := p.notGiven(ctx, half)
		if err != nil {
			return nil, err
		}
		gone = append(gone, some...)
	}
	return gone, nil
}

// since takes what was written since the last pass, and counts.
func (p *pass) since(ctx context.Context, mark localcopy.Mark) error {
	filter := p.f.o.Filter
	filter.Since = new(nostr.Timestamp(max(0, mark.Newest-int64(slack/time.Second))))
	for range 2 { // something may have been written in between
		began := p.f.o.Clock()
		if _, err := p.pages(ctx, filter, 0, true); err != nil {
			return err
		}
		held, err := p.held(ctx)
		if err != nil {
			return err
		}
		equal, err := p.counts(ctx, held)
		if err != nil {
			return err
		}
		if equal {
			return p.confirm(ctx, began, held, false)
		}
	}
	return errUnsettled
}

// read takes everything that the relay shows, and takes off what it does not.
func (p *pass) read(ctx context.Context) error {
	began := p.f.o.Clock()
	held, err := p.held(ctx)
	if err != nil {
		return err
	}
	of := 0
	if p.tell != nil {
		if n, err := p.src.Count(ctx, p.f.o.Filter); err == nil {
			of = int(min(n, 1<<30))
		}
	}
	shown, err := p.pages(ctx, p.f.o.Filter, of, false)
	if err != nil {
		return err
	}
	var hidden [][32]byte
	for _, it := range held {
		if !shown[it.ID] {
			hidden = append(hidden, it.ID)
		}
	}
	if err := p.lose(ctx, hidden); err != nil {
		return err
	}
	if held, err = p.held(ctx); err != nil {
		return err
	}
	return p.confirm(ctx, began, held, true)
}

// pages takes all that the relay shows of a filter, or what is new of it, and
// returns the ids.
func (p *pass) pages(ctx context.Context, filter nostr.Filter, of int, fresh bool) (map[[32]byte]bool, error) {
	shown := map[[32]byte]bool{}
	put := p.putter(ctx, of)
	status, err := p.src.Pages(ctx, filter, func(ev *nostr.Event) error {
		id := idOf(ev)
		shown[id] = true
		if fresh && p.known[id] {
			return nil
		}
		return put.take(ev)
	})
	if err := cmp.Or(put.flush(), err); err != nil {
		return nil, err
	}
	if !status.Complete {
		return nil, errCut
	}
	return shown, nil
}
