package snapshots

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// Done is what a revert did.
type Done struct {
	Steps   int
	Sent    int // in this run; the others were there already
	Partial int // events that not every relay took
	Status  client.Status

	names Names
}

const (
	// addressesTogether is how many addresses are asked for at once, before the
	// first of them is written.
	addressesTogether = 64
	// eventsTogether is how many events are on their way to the relays at once.
	eventsTogether = 16
)

// Names gives a step's event its slug, for errors; "" where it has none to
// give.
type Names func(*nostr.Event) string

// NamesOf reads slugs with keys.
func NamesOf(agent string, keys bundle.Keys) Names {
	return func(ev *nostr.Event) string {
		key, ok := keys(agent, ownerOf(ev))
		if !ok {
			return ""
		}
		engram, err := nipae.Open(key, agent, ownerOf(ev), ev)
		if err != nil {
			return ""
		}
		return string(engram.Slug())
	}
}

// Run sends the steps of a journal, some at a time, and those about core only
// when all others are acknowledged. It stops at the first that is in conflict,
// a *client.ConflictError that names the slug, and writes nothing after it:
// what is there is neither what was there when the journal was made nor what
// the journal writes. It stops when no relay takes an event as well. Run again,
// it goes on.
func Run(ctx context.Context, c *client.Client, j *Journal, names Names) (Done, error) {
	out := Done{Steps: len(j.Steps), names: names}
	for _, core := range []bool{false, true} {
		steps := slices.DeleteFunc(slices.Clone(j.Steps), func(s Step) bool { return s.Core != core })
		for some := range slices.Chunk(steps, addressesTogether) {
			if err := out.some(ctx, c, some); err != nil {
				return out, err
			}
		}
	}
	return out, out.confirm(ctx, c, j)
}

// some does some steps: it asks for what is at their addresses, and writes
// those before the first conflict.
func (d *Done) some(ctx context.Context, c *client.Client, steps []Step) error {
	a, err := c.Ask(ctx, headsFilter(steps))
	d.Status.Relays = a.Relays
	if err != nil {
		return err
	}
	heads := headsOf(a.Events)
	same := everywhere(a, len(heads))
	var write []*nostr.Event
	var conflict error
	for _, s := range steps {
		head := heads[s.Event.Tags.GetD()]
		if conflict = s.conflict(d.names(s.Event), head, a.Partial()); conflict != nil {
			break
		}
		// Unless all relays say the same, some may lack it. Where it is, it is a
		// duplicate.
		if head == nil || head.ID != s.Event.ID || !same {
			write = append(write, s.Event)
		}
	}
	if err := d.publish(ctx, c, write); err != nil {
		return err
	}
	return conflict
}

// conflict reports why a step cannot be done over what is at its address, nil
// for nothing.
func (s Step) conflict(slug string, head *nostr.Event, partial bool) error {
	switch {
	case head == nil && s.Base != "" && !partial:
		// It was deleted meanwhile, which a newer version would undo.
		return &client.ConflictError{Reason: slug + ": what was there when the revert was planned has been deleted"}
	case head != nil && head.ID != s.Event.ID && head.ID != s.Base:
		return &client.ConflictError{Reason: slug + ": another version was written since the revert was planned"}
	}
	return nil
}

// publish sends events and waits for all that were sent. After an error no more
// are.
func (d *Done) publish(ctx context.Context, c *client.Client, events []*nostr.Event) error {
	var mu sync.Mutex
	var first error
	next := 0
	take := func() *nostr.Event {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || next == len(events) {
			return nil
		}
		next++
		return events[next-1]
	}
	var sending sync.WaitGroup
	for range min(eventsTogether, len(events)) {
		sending.Go(func() {
			for ev := take(); ev != nil; ev = take() {
				published, err := c.Publish(ctx, ev)
				mu.Lock()
				if first == nil {
					first, d.Status.Published = err, published
				}
				if err == nil {
					d.Sent++
					if slices.ContainsFunc(published, func(p client.PublishStatus) bool { return !p.Accepted }) {
						d.Partial++
					}
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	return first
}

// everywhere reports whether every relay answered, each with the same n events.
func everywhere(a client.Answers, n int) bool {
	return len(a.Events) == n && !slices.ContainsFunc(a.Relays, func(r client.RelayStatus) bool { return r.Err != nil || r.Events != n })
}

// confirm reads the memory back: at every address what was written must be the
// head.
func (d *Done) confirm(ctx context.Context, c *client.Client, j *Journal) error {
	a, err := c.Ask(ctx, nostr.Filter{Kinds: []int{kindEngram}, Authors: []string{j.Agent}})
	d.Status.Relays, d.Status.Partial = a.Relays, a.Partial() || d.Partial > 0
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrUnverified, err)
	}
	heads := headsOf(a.Events)
	lost, superseded, first := 0, 0, ""
	for _, s := range j.Steps {
		switch head := heads[s.Event.Tags.GetD()]; {
		case head == nil || head.ID != s.Event.ID && !nipae.Newer(head, s.Event):
			lost++
		case head.ID != s.Event.ID:
			if superseded++; first == "" {
				first = d.names(s.Event)
			}
		}
	}
	switch {
	case lost > 0:
		return fmt.Errorf("%w: %d of %d", client.ErrUnverified, lost, len(j.Steps))
	case superseded > 0:
		return &client.ConflictError{Sent: true, Reason: fmt.Sprintf("%d of %d were superseded while the revert went on, first %s", superseded, len(j.Steps), first)}
	}
	return nil
}

// headsFilter asks for what is at the addresses of steps, which are of one
// agent.
func headsFilter(steps []Step) nostr.Filter {
	f := nostr.Filter{Kinds: []int{kindEngram}, Authors: []string{steps[0].Event.PubKey}, Tags: nostr.TagMap{}}
	for _, s := range steps {
		f.Tags["d"] = append(f.Tags["d"], s.Event.Tags.GetD())
	}
	return f
}

// headsOf returns the newest of each address.
func headsOf(events []*nostr.Event) map[string]*nostr.Event {
	heads := map[string]*nostr.Event{}
	for _, ev := range events {
		if at := ev.Tags.GetD(); bundle.CheckShape(ev) == nil && nipae.Newer(ev, heads[at]) {
			heads[at] = ev
		}
	}
	return heads
}
