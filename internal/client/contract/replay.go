package contract

import (
	"cmp"
	"errors"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"
)

// Replay finds where the state events of one pair of keys, and the opens that
// either of the two addressed to their own key, lead, whatever order relays
// took them in, and what was decided of it. The moves are listed in the order
// of arrival as far as it is known, else from the oldest on. The state is nil
// if there is none.
func Replay(events []*nostr.Event, order map[string]niptemp.OrderItem) (state *niptemp.State, moves []Move) {
	events = Arrange(events, func(ev **nostr.Event) Place {
		return Place{N: order[(*ev).ID].N, CreatedAt: int64((*ev).CreatedAt), ID: (*ev).ID}
	})
	owner, dated := ownerAmong(events), datedAmong(events)
	var steps []niptemp.Step
	var decisions []*nostr.Event
	pair, selves, why := [2]string{}, []string{}, map[string]string{}
	for _, ev := range events {
		if _, decides := decisionPair(ev, slices.Values(events)); decides {
			decisions = append(decisions, ev)
			moves = append(moves, moveOf(ev, order))
			continue
		}
		p, err := niptemp.StepOf(ev)
		if err != nil {
			continue
		}
		moves = append(moves, moveOf(ev, order))
		x, y := p.Author, p.To
		if p.Status == niptemp.Expired && (dated[pairOf(x, y)] || dated[pairOf(x, x)] || dated[pairOf(y, y)]) {
			why[p.ID] = "invalid: only the expirer that the contract names says that it has expired"
			continue
		}
		steps = append(steps, p)
		if p.Author != p.To {
			pair = [2]string{p.Author, p.To}
		} else if !slices.Contains(selves, p.Author) {
			selves = append(selves, p.Author)
		}
	}
	follows, place := map[string]int{}, 0
	note := func(a, b string) *niptemp.State {
		f, ok := niptemp.Fold(a, b, owner, steps)
		if !ok {
			return nil
		}
		for _, id := range f.Chain {
			if _, had := follows[id]; !had {
				follows[id] = place
				place++
			}
		}
		return &f.State
	}
	for _, key := range selves {
		if s := note(key, key); s != nil && (state == nil || s.CreatedAt > state.CreatedAt) {
			state = s
		}
	}
	if pair[0] != "" {
		if s := note(pair[0], pair[1]); s != nil {
			state = s
		}
	}
	for _, ev := range decisions {
		next, err := conclude(state, ev, events)
		if err != nil {
			why[ev.ID] = err.Error()
			continue
		}
		state, follows[ev.ID] = &next, place
		place++
	}
	explain(moves, follows, why)
	return state, moves
}

func moveOf(ev *nostr.Event, order map[string]niptemp.OrderItem) Move {
	body, _ := niptemp.ReadState(ev) // it is one
	return Move{From: string(body.Previous), To: string(body.Status), By: ev.PubKey, Note: body.Note, CreatedAt: int64(ev.CreatedAt), Event: ev,
		N: order[ev.ID].N, ArrivedAt: order[ev.ID].ReceivedAt}
}

// conclude returns where a decision of somebody who is no party leads from a
// state, nil for none, by the terms that the events of its pair name.
func conclude(state *niptemp.State, ev *nostr.Event, events []*nostr.Event) (niptemp.State, error) {
	var offered, agreed niptemp.Terms
	if state != nil {
		offered, agreed = termsOf(events, state.Poster, state.Worker)
	}
	next, decision, err := decide(state, ev, offered, agreed)
	if err == nil && !decision {
		err = errors.New("invalid: the offer does not name its author as the expirer")
	}
	return next, err
}

// explain puts the moves that follow one another in that order, among those
// that do not, and says why these do not: why has the answer for decisions.
func explain(moves []Move, follows map[string]int, why map[string]string) {
	var chain []Move
	for _, m := range moves {
		if _, m.Follows = follows[m.Event.ID]; m.Follows {
			chain = append(chain, m)
		}
	}
	slices.SortFunc(chain, func(a, b Move) int { return cmp.Compare(follows[a.Event.ID], follows[b.Event.ID]) })
	var before *niptemp.State
	for i := range moves {
		m := &moves[i]
		if _, ok := follows[m.Event.ID]; ok {
			*m, chain = chain[0], chain[1:]
			if next, err := niptemp.Next(before, m.Event); err == nil {
				before = &next
			}
			continue
		}
		if m.Why = why[m.Event.ID]; m.Why != "" {
			continue
		}
		m.Why = "invalid: another state came in its place"
		if _, err := niptemp.Next(before, m.Event); err != nil {
			m.Why = err.Error()
		}
	}
}

// ownerAmong returns the key whose contract the events' id is by a salt that
// one of them shows, "" if none does.
func ownerAmong(events []*nostr.Event) string {
	for _, ev := range events {
		if niptemp.ProvenSalt(ev) != "" {
			return ev.PubKey
		}
	}
	return ""
}
