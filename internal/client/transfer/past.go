package transfer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// past returns superseded versions that sources show: of the addresses at which a
// target lacks something, and all of contracts that the target's history does not
// have. What is withdrawn there has no current version that could differ.
func (x *transfer) past(ctx context.Context, to *Peer, at map[address][]*offered) (map[string]*nostr.Event, error) {
	wanted := map[*Peer][]address{}
	for a, versions := range at {
		for _, o := range versions {
			for _, from := range o.from {
				if w := wanted[from]; len(w) == 0 || w[len(w)-1] != a {
					wanted[from] = append(w, a)
				}
			}
		}
	}
	known := map[string]*nostr.Event{}
	for _, from := range x.Sources {
		contracts := slices.ContainsFunc(x.Filters, ofContracts) && (x.sources[from].Err == nil || len(wanted[from]) > 0)
		if from == to || len(wanted[from]) == 0 && !contracts {
			continue
		}
		if has, err := x.keepsHistory(ctx, from); err != nil || !has {
			x.fail(from, err)
			continue
		}
		x.Progress("reading the history at " + from.t.URL)
		authors, others := parties(wanted[from])
		rejected, err := x.history(ctx, from, others, known)
		x.sources[from].Rejected += rejected
		x.fail(from, err)
		if contracts {
			x.fail(from, x.readContracts(ctx, from, authors))
			maps.Copy(known, x.contracts[from].versions)
		}
	}
	if len(known) == 0 && len(at) == 0 {
		return nil, nil
	}
	keeps, err := x.keepsHistory(ctx, to)
	if authors := authorsOf(known); keeps && len(authors) > 0 {
		err = x.readContracts(ctx, to, authors)
	}
	if c := x.contracts[to]; c != nil {
		maps.DeleteFunc(known, func(id string, _ *nostr.Event) bool { return c.versions[id] != nil })
	}
	return known, x.withoutHistory(to, err)
}

// placePast returns the superseded versions that a target takes: where it shows
// history, those that are newer than what it has. Others are noted.
func (x *transfer) placePast(ctx context.Context, to *Peer, known map[string]*nostr.Event, at map[address][]*offered, heads map[address]*nostr.Event, gone removals, t *Target) ([]*nostr.Event, error) {
	var withdrawn map[address]*nostr.Event // what it has
	if c := x.contracts[to]; c != nil {
		withdrawn = newestOf(c.versions)
	}
	last := newestOf(known)
	t.past = map[string]bool{}
	var out, older []*nostr.Event
	for _, v := range known {
		a, _ := addressOf(v)
		head := cmp.Or(heads[a], withdrawn[a])
		switch {
		case head != nil && v.ID == head.ID, slices.ContainsFunc(at[a], func(o *offered) bool { return o.event.ID == v.ID }):
		case x.expired(v):
			t.Expired++
		case !x.keeps[to]:
			t.NotMoved = append(t.NotMoved, Moved{v, "the relay shows no history"})
		case head == nil && at[a] == nil && !gone.remove(last[a]):
			t.NotMoved = append(t.NotMoved, Moved{v, "it is withdrawn, and would become current there"})
		case head == nil || nipae.Newer(v, head):
			out = append(out, v)
			t.past[v.ID] = true
		case isContract(v): // its history was looked at
			t.NotMoved = append(t.NotMoved, Moved{v, hasNewer})
		default:
			older = append(older, v)
		}
	}
	return out, x.older(ctx, to, older, t)
}

// hasNewer is why an older version is not moved.
const hasNewer = "the relay has a newer version"

// older notes versions that a target lacks and cannot be given any more.
func (x *transfer) older(ctx context.Context, to *Peer, older []*nostr.Event, t *Target) error {
	if len(older) == 0 {
		return nil
	}
	var at []address
	for _, v := range older {
		a, _ := addressOf(v)
		at = append(at, a)
	}
	there := map[string]*nostr.Event{}
	if _, err := x.history(ctx, to, at, there); err != nil {
		return x.withoutHistory(to, err)
	}
	for _, v := range older {
		if there[v.ID] == nil {
			t.NotMoved = append(t.NotMoved, Moved{v, hasNewer})
		}
	}
	return nil
}

// since is where the filters begin.
func (x *transfer) since() *nostr.Timestamp { return x.Filters[0].Since }

// keepsHistory reports whether a relay shows superseded versions (GET /history).
func (x *transfer) keepsHistory(ctx context.Context, p *Peer) (bool, error) {
	if keeps, known := x.keeps[p]; known {
		return keeps, nil
	}
	if err := x.unshown[p]; err != nil {
		return false, err
	}
	f := nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{p.c.Identity().PubKey()}, Limit: 1}
	_, err := p.History(ctx, f, func(*nostr.Event) error { return nil })
	if err != nil && !errors.Is(err, client.ErrNoHistory) && !client.HangsUp(err) {
		return false, err
	}
	x.keeps[p] = err == nil
	return err == nil, nil
}

// withoutHistory goes on with a target that refuses to show its history, as
// something in front of it may, and still takes events. Other errors it returns.
func (x *transfer) withoutHistory(to *Peer, err error) error {
	if !errors.Is(err, client.ErrAuth) && !errors.Is(err, client.ErrRefused) {
		return err
	}
	delete(x.keeps, to)
	x.unshown[to] = err
	x.note("%s does not show its history (%v): it gets no older versions", to.t.URL, err)
	return nil
}

// history adds the superseded versions of addresses: one by one where they are
// few, else with all others of their author. It returns how many events were wrong
// or not for this key.
func (x *transfer) history(ctx context.Context, p *Peer, at []address, to map[string]*nostr.Event) (rejected int, err error) {
	wanted, groups := map[address]bool{}, map[address][]address{}
	for _, a := range at {
		g := address{kind: a.kind, author: a.author}
		if !wanted[a] {
			wanted[a], groups[g] = true, append(groups[g], a)
		}
	}
	me, since := p.c.Identity().PubKey(), x.since()
	take := func(ev *nostr.Event) error {
		if !concerns(ev, me) {
			rejected++
			return nil
		}
		if a, _ := addressOf(ev); wanted[a] && (since == nil || ev.CreatedAt >= *since) && to[ev.ID] == nil {
			to[ev.ID] = ev
			return x.hold(p, ev)
		}
		return nil
	}
	for g, all := range groups {
		f := nostr.Filter{Kinds: []int{g.kind}, Authors: []string{g.author}}
		filters := []nostr.Filter{f}
		if len(all) <= fewAddresses && nostr.IsAddressableKind(g.kind) {
			filters = nil
			for _, a := range all {
				f.Tags = nostr.TagMap{"d": {a.d}}
				filters = append(filters, f)
			}
		}
		for _, f := range filters {
			status, err := p.History(ctx, f, take)
			rejected += status.Rejected
			if err != nil {
				return rejected, err
			}
		}
	}
	return rejected, nil
}
