package remote

import (
	"context"
	"fmt"

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
}

// Run sends the steps of a journal, one after the other, those about core last. It
// stops at the first that is in conflict, a *client.ConflictError: what is there is
// neither what was there when the journal was made nor what the journal writes. It
// stops at the first that no relay takes as well. Run again, it goes on.
func Run(ctx context.Context, c *client.Client, j *Journal) (Done, error) {
	out := Done{Steps: len(j.Steps)}
	for _, core := range []bool{false, true} {
		for _, s := range j.Steps {
			if s.Core != core {
				continue
			}
			if err := out.step(ctx, c, s); err != nil {
				return out, err
			}
		}
	}
	return out, out.confirm(ctx, c, j)
}

func (d *Done) step(ctx context.Context, c *client.Client, s Step) error {
	a, err := c.Ask(ctx, headFilter(s.Event))
	d.Status.Relays = a.Relays
	if err != nil {
		return err
	}
	head := newest(a.Events)
	switch {
	case head != nil && head.ID == s.Event.ID:
		if len(a.Events) == 1 && everywhere(a.Relays) {
			return nil
		}
		// Some relay may lack it. Where it is, it is a duplicate.
	case head == nil && s.Base != "" && !a.Partial():
		// It was deleted meanwhile, which a newer version would undo.
		return &client.ConflictError{Reason: "what was there when the revert was planned has been deleted"}
	case head != nil && head.ID != s.Base:
		return &client.ConflictError{Reason: "another version was written since the revert was planned"}
	}
	published, err := c.Publish(ctx, s.Event)
	d.Status.Published = published
	if err != nil {
		return err
	}
	d.Sent++
	for _, p := range published {
		if !p.Accepted {
			d.Partial++
			break
		}
	}
	return nil
}

// everywhere reports whether every relay answered with an event.
func everywhere(relays []client.RelayStatus) bool {
	for _, r := range relays {
		if r.Err != nil || r.Events == 0 {
			return false
		}
	}
	return true
}

// confirm reads the memory back: at every address what was written must be the head.
func (d *Done) confirm(ctx context.Context, c *client.Client, j *Journal) error {
	a, err := c.Ask(ctx, nostr.Filter{Kinds: []int{kindEngram}, Authors: []string{j.Agent}})
	d.Status.Relays, d.Status.Partial = a.Relays, a.Partial() || d.Partial > 0
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrUnverified, err)
	}
	heads := map[string]*nostr.Event{}
	for _, ev := range a.Events {
		if at := ev.Tags.GetD(); bundle.CheckShape(ev) == nil && nipae.Newer(ev, heads[at]) {
			heads[at] = ev
		}
	}
	lost, superseded := 0, 0
	for _, s := range j.Steps {
		switch head := heads[s.Event.Tags.GetD()]; {
		case head == nil || head.ID != s.Event.ID && !nipae.Newer(head, s.Event):
			lost++
		case head.ID != s.Event.ID:
			superseded++
		}
	}
	switch {
	case lost > 0:
		return fmt.Errorf("%w: %d of %d", client.ErrUnverified, lost, len(j.Steps))
	case superseded > 0:
		return &client.ConflictError{Sent: true, Reason: fmt.Sprintf("%d of %d were superseded while the revert went on", superseded, len(j.Steps))}
	}
	return nil
}

// headFilter asks for what is at the address of an event.
func headFilter(ev *nostr.Event) nostr.Filter {
	return nostr.Filter{Kinds: []int{ev.Kind}, Authors: []string{ev.PubKey}, Tags: nostr.TagMap{"d": {ev.Tags.GetD()}, "p": {ownerOf(ev)}}}
}

func newest(events []*nostr.Event) (head *nostr.Event) {
	for _, ev := range events {
		if bundle.CheckShape(ev) == nil && nipae.Newer(ev, head) {
			head = ev
		}
	}
	return head
}
