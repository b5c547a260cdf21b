package transfer

import (
	"context"
	"engramd/nips/nipae"
	"fmt"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// contractPast is what a relay shows of superseded and withdrawn contract memory.
type contractPast struct {
	asked    map[string]bool // authors
	versions map[string]*nostr.Event
}

// readContracts reads what a relay keeps of contract memory that is not current:
// of this key, of those it wrote to in what is found, and of some others. Each
// author is asked for once.
func (x *transfer) readContracts(ctx context.Context, p *Peer, authors []string) error {
	c := x.contracts[p]
	if c == nil {
		c = &contractPast{map[string]bool{}, map[string]*nostr.Event{}}
		x.contracts[p] = c
	}
	me, since, rejected := p.c.Identity().PubKey(), x.since(), 0
	queue := append([]string{me}, authors...)
	take := func(ev *nostr.Event) error {
		if !concerns(ev, me) {
			rejected++
			return nil
		}
		if since == nil || ev.CreatedAt >= *since {
			c.versions[ev.ID] = ev
			if err := x.hold(p, ev); err != nil {
				return err
			}
		}
		if tag := ev.Tags.Find("p"); ev.PubKey == me && tag != nil && nostr.IsValidPublicKey(tag[1]) {
			queue = append(queue, tag[1])
		}
		return nil
	}
	for len(queue) > 0 {
		author := queue[0]
		if queue = queue[1:]; c.asked[author] {
			continue
		}
		c.asked[author] = true
		for _, kind := range contractKinds {
			status, err := p.History(ctx, nostr.Filter{Kinds: []int{kind}, Authors: []string{author}}, take)
			rejected += status.Rejected
			if err != nil {
				return err
			}
		}
	}
	if s := x.sources[p]; s != nil {
		s.Rejected += rejected
	}
	return nil
}

// concerns reports whether a key is a party to an event.
func concerns(ev *nostr.Event, key string) bool {
	return ev.PubKey == key || ev.Tags.FindWithValue("p", key) != nil
}

// ofContracts reports whether a filter asks for contract memory.
func ofContracts(f nostr.Filter) bool {
	return slices.ContainsFunc(f.Kinds, func(kind int) bool { return slices.Contains(contractKinds, kind) })
}

// parties parts addresses: of contracts the authors, and the others.
func parties(at []address) (authors []string, others []address) {
	for _, a := range at {
		if slices.Contains(contractKinds, a.kind) {
			authors = append(authors, a.author)
		} else {
			others = append(others, a)
		}
	}
	return authors, others
}

// authorsOf are those of contract memory.
func authorsOf(events map[string]*nostr.Event) (authors []string) {
	for _, ev := range events {
		if isContract(ev) {
			authors = append(authors, ev.PubKey)
		}
	}
	return authors
}

// addressesOf are those of events that are lacked, and of older versions.
func addressesOf(lacked map[address][]*offered, past map[string]*nostr.Event) map[address]bool {
	at := map[address]bool{}
	for a := range lacked {
		at[a] = true
	}
	for _, ev := range past {
		a, _ := addressOf(ev)
		at[a] = true
	}
	return at
}

// newestOf are the newest versions of each address.
func newestOf(events map[string]*nostr.Event) map[address]*nostr.Event {
	out := map[address]*nostr.Event{}
	for _, v := range events {
		if a, _ := addressOf(v); out[a] == nil || nipae.Newer(v, out[a]) {
			out[a] = v
		}
	}
	return out
}

// removals is what the deletions remove that a target will get.
type removals struct {
	ids map[string]bool            // "author id"
	at  map[string]nostr.Timestamp // by the value of an a tag: up to when
}

func (r removals) add(ev *nostr.Event) {
	if ev.Kind != nostr.KindDeletion {
		return
	}
	for _, tag := range ev.Tags {
		switch {
		case len(tag) < 2:
		case tag[0] == "e":
			r.ids[ev.PubKey+" "+tag[1]] = true
		case tag[0] == "a" && strings.Contains(tag[1], ":"+ev.PubKey+":"):
			r.at[tag[1]] = max(r.at[tag[1]], ev.CreatedAt)
		}
	}
}

func (r removals) remove(ev *nostr.Event) bool {
	at, named := r.at[fmt.Sprintf("%d:%s:%s", ev.Kind, ev.PubKey, ev.Tags.GetD())]
	return r.ids[ev.PubKey+" "+ev.ID] || named && at >= ev.CreatedAt
}
