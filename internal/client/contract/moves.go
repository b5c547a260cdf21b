package contract

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// wireMove is a move as the API has it. The event says the rest. A move without
// an event is the relay's decision, which the contract says too.
type wireMove struct {
	N          int64           `json:"n"`
	ReceivedAt moment          `json:"received_at"`
	Withdrawn  *wireWithdrawal `json:"withdrawn"`
	EventID    string          `json:"nostr_event_id"`
	Event      json.RawMessage `json:"event"`
}

// apiMoves adds all moves of a contract that the API shows. Not every API lists
// them.
func apiMoves(ctx context.Context, c *client.Client, t client.Target, id, poster string, a *apiThread) {
	moves, complete, err := listAll[wireMove](ctx, c, t, contractPath(id, "transitions"), byPoster(poster), "transitions", maxContractThings, nil)
	a.moves = moves
	switch {
	case errors.Is(err, client.ErrNoAPI), errors.Is(err, client.ErrNotFound):
	case a.contract == nil && (errors.Is(err, client.ErrAuth) || errors.Is(err, client.ErrInvalid)):
		// it is not there for this key
	case err != nil || !complete:
		a.status.Err, a.status.Complete = cmp.Or(err, a.status.Err), false
	}
}

// signed returns the event of a contract that an API shows, verified; nil if it
// shows none of that kind that is right.
func signed(col *client.Collector, raw json.RawMessage, kind int, id string) *nostr.Event {
	if len(raw) == 0 {
		return nil
	}
	ev, err := col.Admit(raw, nostr.Filter{Kinds: []int{kind}, Tags: nostr.TagMap{"d": {id}}})
	if err != nil {
		return nil
	}
	return ev
}

// arrived says of moves what the APIs told of them: when one took it, the
// number that the one at home gives it, and whether it was withdrawn. What a
// signed order says of arrival stays.
func (g *gathering) arrived(moves []Move, home int) {
	at := map[string]int{}
	for i := range moves {
		at[moves[i].Event.ID] = i
	}
	for i, a := range g.apis {
		for _, w := range a.moves {
			place, ok := at[w.EventID]
			if !ok {
				continue
			}
			m := &moves[place]
			if i == home && m.N == 0 {
				m.N, m.ArrivedAt = w.N, int64(w.ReceivedAt)
			}
			m.ArrivedAt = cmp.Or(m.ArrivedAt, int64(w.ReceivedAt))
			if m.Withdrawn == nil || m.Withdrawn.Event == nil {
				m.Withdrawn = cmp.Or(w.Withdrawn.withdrawal(), m.Withdrawn)
			}
		}
	}
}

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
			if state, _ := Replay(events, nil); state != nil && g.by(state.Poster) {
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
		return &Contract{ID: g.id, Stateless: true, Poster: Party{PubKey: first.PubKey}, Worker: Party{PubKey: first.Tags.Find("p").Value()}}, nil
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
