package gatetest

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// Filter returns a filter that this reader might send to a relay with these
// events. Most are about one of the events, their lists hold what matches it,
// what does not, or nothing; limit and search are never set.
func (g *Gen) Filter(reader []string, events []*nostr.Event) nostr.Filter {
	about := &nostr.Event{ID: g.hex(), PubKey: g.Person().Pub, Kind: pick(g, Kinds)}
	if len(events) > 0 && g.chance(95) {
		about = pick(g, events)
	}
	var f nostr.Filter
	f.Kinds = g.kinds(about)
	if g.chance(20) {
		f.IDs = g.ids(about, events)
	}
	if g.chance(40) {
		f.Authors = g.people(reader, about.PubKey)
	}
	if g.chance(35) {
		g.tag(&f, "p", g.people(reader, values(about, "p")...))
	}
	if g.chance(25) {
		g.tag(&f, "d", g.list(values(about, "d"), g.contract))
	}
	if g.chance(4) {
		g.tag(&f, "t", g.list(values(about, "t"), g.contract))
	}
	if g.chance(10) {
		f.Since = ptr(Base + nostr.Timestamp(g.Rand.IntN(150)))
	}
	if g.chance(10) {
		f.Until = ptr(Base + nostr.Timestamp(50+g.Rand.IntN(150)))
	}
	return f
}

func (g *Gen) kinds(about *nostr.Event) []int {
	switch n := g.Rand.IntN(100); {
	case n < 25:
		return nil
	case n < 27:
		return []int{}
	case n < 70:
		return []int{about.Kind}
	}
	return []int{about.Kind, pick(g, Kinds), pick(g, Kinds)}[g.Rand.IntN(2):]
}

func (g *Gen) ids(about *nostr.Event, events []*nostr.Event) []string {
	ids := g.list([]string{about.ID}, g.hex)
	if len(events) > 0 && g.chance(25) {
		for range 12 {
			ids = append(ids, pick(g, events).ID)
		}
	}
	return ids
}

// people returns pubkeys: often only the reader's own.
func (g *Gen) people(reader []string, about ...string) []string {
	if len(reader) > 0 && g.chance(60) {
		mine := slices.Clone(reader)
		g.Rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
		return mine[:1+g.Rand.IntN(len(mine))]
	}
	return g.list(about, func() string { return g.Person().Pub })
}

// list returns what matches, what need not, both, or now and then nothing.
func (g *Gen) list(matching []string, draw func() string) []string {
	if g.chance(5) {
		return []string{}
	}
	list := []string{draw()}
	if len(matching) > 0 && g.chance(80) {
		list[0] = pick(g, matching)
	}
	for g.chance(25) {
		list = append(list, draw())
	}
	return list
}

func (g *Gen) tag(f *nostr.Filter, name string, list []string) {
	if f.Tags == nil {
		f.Tags = nostr.TagMap{}
	}
	f.Tags[name] = list
}

func values(ev *nostr.Event, name string) []string {
	var out []string
	for _, tag := range ev.Tags {
		if len(tag) > 1 && tag[0] == name {
			out = append(out, tag[1])
		}
	}
	return out
}

func ptr[T any](v T) *T { return &v }
