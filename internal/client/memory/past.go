package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// ListAllAt is ListAll of an instant in the past, in Unix seconds, by the times
// that versions bear (created_at): of each address that has a head now the
// newest version of then that the relays keep. unknown counts addresses of
// which none is kept: they were not there yet, or the versions of then were
// dropped. The Status is partial also if some are unknown and no relay shows
// superseded versions. Errors are as of ListAll.
func (r *Reader) ListAllAt(ctx context.Context, at int64) (l Listing, unknown int, status client.Status, err error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	all, err := r.everything(ctx)
	if err != nil {
		return Listing{}, 0, r.status(all.relays, 0), err
	}
	events, unknown := r.until(at, all.now, all.past)
	heads, status, err := r.judged(r.selectHeads(events), all.besides)
	status.Partial = status.Partial || unknown > 0 && !all.shown
	if err != nil {
		return Listing{}, unknown, status, err
	}
	return listingOf(heads), unknown, status, nil
}

// LogAll returns every version of every record that the relays have, in the order
// of the times they bear, the oldest first. What cannot be read has Err, and no
// slug. A relay without /history is shown with ErrNoHistory, which makes nothing
// partial. Errors are as of ListAll.
func (r *Reader) LogAll(ctx context.Context) ([]Version, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	all, err := r.everything(ctx)
	if err != nil {
		return nil, r.status(all.relays, 0), err
	}
	heads, status, err := r.judged(all.heads, all.besides)
	current := map[string]bool{}
	for _, e := range append(heads.Heads(), heads.Tombstones...) {
		current[e.Event.ID] = true
	}
	events := map[string]*nostr.Event{}
	for _, ev := range slices.Concat(all.past, all.now) {
		if ev.Tags.FindWithValue("p", r.owner) != nil {
			events[ev.ID] = ev
		}
	}
	var versions []Version
	for _, ev := range sortedEvents(events) {
		v := r.version("", ev)
		if v.Err == nil && r.counts(v.Slug) != nil {
			continue
		}
		v.Head = current[ev.ID]
		versions = append(versions, v)
	}
	slices.Reverse(versions)
	return versions, status, err
}

// everything is all that the relays have of an agent: heads of the pair, and
// superseded versions of the agent.
type everything struct {
	now, past []*nostr.Event
	relays    []client.RelayStatus
	shown     bool          // some relay shows superseded versions
	heads     nipae.Listing // of now
	besides   client.Status // with what this machine knows beside them
}

func (r *reader) everything(ctx context.Context) (everything, error) {
	asking, done := client.Part(ctx, 0.5)
	now, err := r.c.AskThose(asking, r.c.Targets(), r.all())
	done()
	if err != nil {
		return everything{relays: now.Relays}, err
	}
	past, err := r.c.AskHistory(ctx, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{r.agent}})
	if err != nil && !errors.Is(err, client.ErrNoRelay) { // what failed where is in its answers
		return everything{relays: now.Relays}, err
	}
	all := everything{now: now.Events, past: past.Events}
	all.relays, all.shown = bothRelays(now.Relays, past.Relays)
	all.now, all.heads, all.besides = r.besidesAll(ctx, r.knownAll(ctx), all.now, r.status(all.relays, 0))
	return all, nil
}

// until returns the versions that are not newer than an instant, of addresses
// of the pair that have a head now, and of how many of these there is none.
func (p *pair) until(at int64, now, past []*nostr.Event) (events []*nostr.Event, unknown int) {
	there, found := map[string]bool{}, map[string]bool{}
	for _, ev := range now {
		there[ev.Tags.GetD()] = true
	}
	for _, ev := range slices.Concat(now, past) {
		d := ev.Tags.GetD()
		if int64(ev.CreatedAt) <= at && there[d] && ev.Tags.FindWithValue("p", p.owner) != nil {
			events = append(events, ev)
			found[d] = true
		}
	}
	return events, len(there) - len(found)
}

// bothRelays returns what became of two questions at each relay, and whether
// one of them answered the second.
func bothRelays(heads, past []client.RelayStatus) (relays []client.RelayStatus, shown bool) {
	for _, r := range heads {
		k := kept{heads: client.Answer{Status: r}, past: client.Answer{Status: client.RelayStatus{URL: r.URL, Complete: true}}}
		for _, p := range past {
			if p.URL == r.URL {
				k.past.Status = p
				shown = shown || p.Err == nil
			}
		}
		relays = append(relays, k.status())
	}
	return relays, shown
}

// Every returns each engram of the pair that the relays have, heads and superseded
// ones, in the order of the times that they bear, the oldest first. What cannot be
// read is left out. The Status and the errors are as of LogAll.
func (r *Reader) Every(ctx context.Context) ([]nipae.Engram, client.Status, error) {
	versions, status, err := r.LogAll(ctx)
	var all []nipae.Engram
	for _, v := range versions {
		if v.Err == nil {
			all = append(all, nipae.Engram{Event: v.event, Body: v.body})
		}
	}
	return all, status, err
}

// Newest returns the engram at the head of each address, tombstones too. What cannot be
// read is left out. The Status and the errors are as of ListAll.
func (r *Reader) Newest(ctx context.Context) ([]nipae.Engram, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	l, status, err := r.heads(ctx)
	return append(l.Heads(), l.Tombstones...), status, err
}
