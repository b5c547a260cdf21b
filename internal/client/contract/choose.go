package contract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// choose finds the contract that is meant: what an API has, if it is with the
// key that is named (any for "") and its poster is the one that is asked for;
// else one known from events. nil if there is none.
func (g *gathering) choose(with string) (*Contract, error) {
	for _, a := range g.apis {
		if c := a.contract; c != nil && (with == "" || with == c.Poster.PubKey || with == c.Worker.PubKey) && g.by(c.Poster.PubKey) {
			return c, nil
		}
	}
	if with == "" && g.poster != g.c.HTTP().Me() {
		with = g.poster
	}
	for _, kind := range []int{kindState, kindEntry} {
		pair, err := g.choosePair(kind, with)
		if err != nil {
			return nil, err
		}
		if pair == nil {
			continue
		}
		if kind == kindState {
			events := g.ofPair(kind, *pair)
			if state, _ := replay(events, nil); state != nil && g.by(state.Poster) {
				offered, agreed := termsOf(events, state.Poster, state.Worker)
				return &Contract{Offered: offered, Agreed: agreed, Arbitrator: Party{PubKey: agreed.Arbitrator}, ID: g.id, Status: string(state.Status), Poster: Party{PubKey: state.Poster}, Worker: Party{PubKey: state.Worker}, UpdatedAt: state.CreatedAt}, nil
			}
			continue
		}
		first := slices.MinFunc(g.ofPair(kind, *pair), func(a, b *nostr.Event) int {
			return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
		})
		if g.poster != "" {
			continue // of entries alone no poster is known
		}
		return &Contract{ID: g.id, Stateless: true, Poster: Party{PubKey: first.PubKey}, Worker: Party{PubKey: tagValue(first, "p")}}, nil
	}
	return nil, nil
}

// by reports whether a poster is the one that is asked for.
func (g *gathering) by(poster string) bool { return g.poster == "" || g.poster == poster }

// ofPair returns the events of a kind between two keys, and those that either
// of them addressed to itself.
func (g *gathering) ofPair(kind int, pair [2]string) []*nostr.Event {
	var out []*nostr.Event
	for _, ev := range g.events {
		of := g.pairOf(ev)
		if ev.Kind == kind && (of == pair || of[0] == of[1] && slices.Contains(pair[:], of[0])) {
			out = append(out, ev)
		}
	}
	return out
}

// choosePair finds the pair of keys among those of the events of a kind: a pair
// that names the caller; if there are several, the one in which the caller
// wrote last; if the caller wrote in none, and for somebody else, the only one
// there is. What a key addressed to itself is a pair only if nothing else is.
func (g *gathering) choosePair(kind int, with string) (*[2]string, error) {
	me := g.c.HTTP().Me()
	spoke := map[[2]string]nostr.Timestamp{} // when the caller last did
	var selves, pairs [][2]string
	for _, ev := range g.events {
		pair := g.pairOf(ev)
		if ev.PubKey == me {
			spoke[pair] = max(spoke[pair], ev.CreatedAt)
		}
		list := &pairs
		if pair[0] == pair[1] {
			list = &selves
		}
		if ev.Kind == kind && (with == "" || slices.Contains(pair[:], with)) && !slices.Contains(*list, pair) {
			*list = append(*list, pair)
		}
	}
	if mine := keep(pairs, func(p [2]string) bool { return slices.Contains(p[:], me) }); len(mine) > 0 {
		pairs = mine
		if said := keep(mine, func(p [2]string) bool { return spoke[p] > 0 }); len(said) > 0 {
			last := slices.MaxFunc(said, func(a, b [2]string) int { return cmp.Compare(spoke[a], spoke[b]) })
			return &last, nil
		}
	}
	if own := pairOf(me, me); len(pairs) == 0 && slices.Contains(selves, own) {
		return &own, nil
	}
	if len(pairs) == 0 {
		pairs = selves
	}
	switch len(pairs) {
	case 0:
		return nil, nil
	case 1:
		return &pairs[0], nil
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return nil, errPairs(pairs)
}

func keep[T any](all []T, good func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !good(v) })
}
