package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"
)

// wireMove is a move as the API has it. What it says besides is in the event; one
// without an event is the relay's decision, which the contract tells too.
type wireMove struct {
	ReceivedAt moment          `json:"received_at"`
	EventID    string          `json:"nostr_event_id"`
	Event      json.RawMessage `json:"event"`
}

// apiMoves adds all moves of a contract that the API shows. Not every API lists
// them.
func (c *Client) apiMoves(ctx context.Context, t target, id string, a *apiThread) {
	for offset := 0; ; {
		var page struct {
			Transitions []wireMove `json:"transitions"`
			Total       int        `json:"total"`
		}
		err := c.api(ctx, t, http.MethodGet, contractPath(id, "transitions"), pageQuery(offset), nil, &page)
		switch {
		case errors.Is(err, ErrNoAPI), errors.Is(err, ErrNotFound):
			return
		case a.contract == nil && (errors.Is(err, ErrAuth) || errors.Is(err, ErrInvalid)):
			return // it is not there for this key
		case err != nil:
			a.status.Err, a.status.Complete = err, false
			return
		}
		a.moves = append(a.moves, page.Transitions...)
		offset += len(page.Transitions)
		switch {
		case len(page.Transitions) == 0 || offset >= page.Total:
			return
		case offset > maxContractThings:
			a.status.Complete = false
			return
		}
	}
}

// apiOrder adds the order of arrival that the API signs for those who may read the
// whole thread. Not every API does, and what it says is checked by who uses it.
func (c *Client) apiOrder(ctx context.Context, t target, id string, a *apiThread) {
	if a.contract == nil {
		return
	}
	var order json.RawMessage
	err := c.api(ctx, t, http.MethodGet, contractPath(id, "order"), nil, nil, &order)
	switch {
	case err == nil:
		a.order = order
	case errors.Is(err, ErrNoAPI), errors.Is(err, ErrNotFound), errors.Is(err, ErrAuth), errors.Is(err, ErrRefused):
	default:
		a.status.Err, a.status.Complete = err, false
	}
}

// signed is the event of a move, verified; nil if there is none that is right.
func (w wireMove) signed(col *collector, id string) *nostr.Event {
	if len(w.Event) == 0 || string(w.Event) == "null" {
		return nil
	}
	ev, err := col.admit(w.Event, nostr.Filter{Kinds: []int{kindContractState}, Tags: nostr.TagMap{"d": {id}}})
	if err != nil || ev.ID != w.EventID {
		return nil
	}
	return ev
}

// arrived sets when a relay took each move, the first that says so.
func (g *gathering) arrived(moves []ContractMove) {
	at := map[string]int64{}
	for _, a := range g.apis {
		for _, w := range a.moves {
			if at[w.EventID] == 0 {
				at[w.EventID] = int64(w.ReceivedAt)
			}
		}
	}
	for i := range moves {
		moves[i].ArrivedAt = at[moves[i].Event.ID]
	}
}

// Replay follows the state events of one pair of keys, verified ones, and those of
// the opens that either addressed to itself. The state is nil if there is none.
func Replay(events []*nostr.Event) (*niptemp.State, []ContractMove) { return replay(events) }
