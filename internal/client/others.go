package client

import (
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// maxOthers is how many engrams are looked at to find out about other pairs.
const maxOthers = 500

// Others is what a key can know of memory that is not the pair's.
type Others struct {
	// Begun says that there is memory of the pair itself, if only tombstones; then
	// nothing else is known.
	Begun bool
	// Keys are the other owners for whom the agent remembers something, when the
	// agent asks; the other agents that remember something for the owner, when the
	// owner asks. Who wrote last comes first.
	Keys []string
}

// Others reports whether the pair has any memory, and if not, with whom the
// client's key has. An empty memory that is met with the wrong owner, agent or
// key can so be told from one that has not begun. The errors are ErrNoRelay and
// ErrPartial: one relay that does not answer may know of more.
func (m *Memory) Others(ctx context.Context) (Others, Status, error) {
	ctx, cancel := m.c.operation(ctx)
	defer cancel()
	own := m.all()
	own.Limit = 1
	a, err := m.c.ask(ctx, own)
	status := m.status(a.Relays, 0)
	if err != nil || len(a.Events) > 0 {
		return Others{Begun: len(a.Events) > 0}, status, err
	}
	rest := nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{m.agent}, Limit: maxOthers}
	targets := m.c.relays()
	if !m.Writable() {
		// Listed relays are not told who the owner is.
		rest.Authors, rest.Tags = nil, nostr.TagMap{"p": {m.owner}}
		targets = slices.DeleteFunc(targets, func(t target) bool { return t.listed })
	}
	b, err := m.c.askThose(ctx, targets, rest)
	status = m.status(b.Relays, 0)
	switch {
	case err != nil:
		return Others{}, status, err
	case partial(a.Relays) || partial(b.Relays):
		status.Partial = true
		return Others{Keys: m.others(b.Events)}, status, failures(ErrPartial, slices.Concat(a.Relays, b.Relays))
	}
	return Others{Keys: m.others(b.Events)}, status, nil
}

// others returns the other halves of the pairs that engrams belong to.
func (m *Memory) others(events []*nostr.Event) []string {
	var keys []string
	for _, ev := range events {
		if nipae.CheckEnvelope(ev) != nil {
			continue
		}
		key := ev.PubKey
		if m.Writable() {
			key = ev.Tags.GetFirst([]string{"p"}).Value()
		}
		if key != m.owner && key != m.agent && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
