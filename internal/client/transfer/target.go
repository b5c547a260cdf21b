package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/kind"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// addressBatch is how many addresses are asked for at a time.
const addressBatch = 200

// headsAt asks a target for what it has at those addresses now.
func (x *transfer) headsAt(ctx context.Context, to *Peer, at map[address]bool) (map[address]*nostr.Event, error) {
	type group struct {
		kind   int
		author string
	}
	groups := map[group][]string{}
	for a := range at {
		g := group{a.kind, a.author}
		groups[g] = append(groups[g], a.d)
	}
	heads := map[address]*nostr.Event{}
	for g, ds := range groups {
		slices.Sort(ds)
		batch := addressBatch
		if to.t.Listed { // it is told no addresses, and asked once
			batch = len(ds)
		}
		for part := range slices.Chunk(ds, batch) {
			f := nostr.Filter{Kinds: []int{g.kind}, Authors: []string{g.author}, Tags: nostr.TagMap{}}
			if nostr.IsAddressableKind(g.kind) && !to.t.Listed {
				f.Tags["d"] = part
			}
			if g.author != to.c.Identity().PubKey() && slices.Contains(memoryKinds, g.kind) {
				f.Tags["p"] = []string{to.c.Identity().PubKey()}
			}
			_, err := to.Pages(ctx, f, func(ev *nostr.Event) error {
				a, _ := addressOf(ev)
				if old := heads[a]; old == nil || nipae.Newer(ev, old) {
					heads[a] = ev
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return heads, nil
}

// gated leaves out what a key other than the target's readers signed about a
// contract, where the target shows contracts to anybody: who signed it did not
// choose that relay.
func (x *transfer) gated(ctx context.Context, to *Peer, events []*nostr.Event, t *Target) ([]*nostr.Event, error) {
	foreign := func(ev *nostr.Event) bool {
		return isContract(ev) && ev.PubKey != to.c.Identity().PubKey()
	}
	if !slices.ContainsFunc(events, foreign) {
		return events, nil
	}
	hides, err := x.hidesContracts(ctx, to)
	switch {
	case err != nil:
		return nil, fmt.Errorf("whether it shows contracts to strangers is not known: %w", err)
	case hides:
		return events, nil
	}
	return slices.DeleteFunc(events, func(ev *nostr.Event) bool {
		if foreign(ev) {
			t.Refused = append(t.Refused, Moved{ev, "not sent: another key signed it, and this relay shows contracts to strangers"})
			return true
		}
		return false
	}), nil
}

// hiding is whether a relay shows contracts to members only, or why that is not
// known.
type hiding struct {
	hides bool
	err   error
}

// hidesContracts reports whether a relay refuses contracts to strangers. It is
// asked once.
func (x *transfer) hidesContracts(ctx context.Context, p *Peer) (bool, error) {
	h, known := x.hides[p]
	if !known {
		h.hides, h.err = p.hides(ctx, niptemp.KindEntry)
		x.hides[p] = h
	}
	return h.hides, h.err
}

// mayTell reports whether two relays may be told each other's ids of a filter. Who
// knows the id of contract memory can read it (the gate's rule of ids), so a relay
// that anybody reads must not learn those of another.
func (x *transfer) mayTell(ctx context.Context, a, b *Peer, f nostr.Filter) bool {
	if !ofContracts(f) {
		return true
	}
	for _, p := range []*Peer{a, b} {
		if hides, err := x.hidesContracts(ctx, p); err != nil || !hides {
			return false
		}
	}
	return true
}

// hides reports whether a relay refuses a kind to a key that it has never seen.
func (p *Peer) hides(ctx context.Context, kind int) (bool, error) {
	secret, err := p.c.Options().Random(32)
	if err != nil {
		return false, err
	}
	id, err := client.NewIdentity(fmt.Sprintf("%x", secret))
	if err != nil {
		return false, err
	}
	nobody := &Peer{c: client.New(id, p.c.Options()), t: p.t}
	defer nobody.Close()
	_, err = nobody.Pages(ctx, nostr.Filter{Kinds: []int{kind}, Limit: 1}, func(*nostr.Event) error { return nil })
	if errors.Is(err, client.ErrAuth) {
		return true, nil
	}
	return false, err
}

// progressEach is after how many events it is told how far a transfer is.
const progressEach = 1000

// events is a number of events in words.
func events(n int) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

// send sends events that are in order: what belongs together one after the other,
// the rest side by side, and a deletion when all before it are there.
func (x *transfer) send(ctx context.Context, to *Peer, list []*nostr.Event, t *Target) error {
	if x.DryRun {
		for _, ev := range list {
			t.took(ev)
		}
		return nil
	}
	if len(list) > 0 {
		x.Progress("sending " + events(len(list)) + " to " + to.t.URL)
	}
	for len(list) > 0 {
		removes := removing(list[0])
		n := slices.IndexFunc(list, func(ev *nostr.Event) bool { return removing(ev) != removes })
		if n < 0 {
			n = len(list)
		}
		if err := x.publish(ctx, to, list[:n], t); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// took counts an event that a target took, or would be sent on a dry run.
func (t *Target) took(ev *nostr.Event) {
	t.Sent++
	if t.past[ev.ID] {
		t.Past++
	}
}

func removing(ev *nostr.Event) bool { return ev.Kind == nostr.KindDeletion || ev.Kind == kind.Vanish }

// inRows parts events that are in order into rows, in the order of their first.
func inRows(list []*nostr.Event) [][]*nostr.Event {
	at := map[string]int{}
	var rows [][]*nostr.Event
	for _, ev := range list {
		a, has := addressOf(ev)
		name := "event " + ev.ID
		if has {
			name = a.row()
		}
		i, known := at[name]
		if !known {
			i = len(rows)
			at[name], rows = i, append(rows, nil)
		}
		rows[i] = append(rows[i], ev)
	}
	return rows
}
