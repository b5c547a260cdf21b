package memory

import (
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// maxOthers is how many engrams are looked at to find out about other pairs.
const maxOthers = 500

// Others is what a key can know of memory that is not the pair's.
type Others struct {
	// Begun says that there is memory of the pair itself, if only tombstones; then
	// nothing else is known. Proposals, and answers to them, are no memory, here
	// and of other pairs.
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
func (r *Reader) Others(ctx context.Context) (Others, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	a, begun, err := r.begun(ctx)
	status := r.status(a.Relays, 0)
	if err != nil || begun {
		return Others{Begun: begun}, status, err
	}
	rest := nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{r.agent}, Limit: maxOthers}
	targets := r.c.Targets()
	if !r.Writable() {
		// Listed relays are not told who the owner is.
		rest.Authors, rest.Tags = nil, nostr.TagMap{"p": {r.owner}}
		targets = slices.DeleteFunc(targets, func(t client.Target) bool { return t.Listed })
	}
	b, err := r.c.AskThose(ctx, targets, rest)
	status = r.status(b.Relays, 0)
	if err != nil {
		return Others{}, status, err
	}
	keys := r.others(b.Events)
	if client.Partial(a.Relays) || client.Partial(b.Relays) {
		status.Partial = true
		return Others{Keys: keys}, status, client.Failures(client.ErrPartial, slices.Concat(a.Relays, b.Relays))
	}
	return Others{Keys: keys}, status, nil
}

// begun reports whether there is memory of the pair. One event tells, unless it
// is a proposal or an answer; of those, maxOthers without a memory are none.
func (r *Reader) begun(ctx context.Context) (a client.Answers, begun bool, err error) {
	own := r.all()
	for _, own.Limit = range []int{1, maxOthers} {
		a, err = r.c.AskThose(ctx, r.c.Targets(), own)
		if err != nil || len(a.Events) == 0 {
			return a, false, err
		}
		if _, begun = withoutBookkeeping(nipae.SelectHeads(r.key(), r.agent, r.owner, a.Events)); begun {
			return a, true, nil
		}
	}
	return a, false, nil
}

// others returns the other halves of the pairs that engrams belong to, without
// those of which there are proposals and answers only.
func (r *Reader) others(events []*nostr.Event) []string {
	var keys []string
	of := map[string][]*nostr.Event{}
	for _, ev := range events {
		if nipae.CheckEnvelope(ev) != nil {
			continue
		}
		key := ev.PubKey
		if r.Writable() {
			key = ev.Tags.GetFirst([]string{"p"}).Value()
		}
		if key == r.owner || key == r.agent || !r.Writable() && isOwner(r.c, key) {
			continue
		}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], ev)
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		between, err := conversation(r.c, key)
		if err != nil {
			return false // it names no key, and is named
		}
		agent, owner := key, r.owner
		if r.Writable() {
			agent, owner = r.agent, key
		}
		_, remembers := withoutBookkeeping(nipae.SelectHeads(between(), agent, owner, of[key]))
		return !remembers
	})
}
