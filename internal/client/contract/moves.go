package contract

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/niptemp"
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
	complete, err := eachPage(func(offset int) (int, int, error) {
		var page struct {
			Transitions []wireMove `json:"transitions"`
			Total       int        `json:"total"`
		}
		err := c.HTTP().API(ctx, t, http.MethodGet, contractPath(id, "transitions"), byPoster(pageQuery(offset), poster), nil, &page)
		a.moves = append(a.moves, page.Transitions...)
		return len(page.Transitions), page.Total, err
	})
	switch {
	case errors.Is(err, client.ErrNoAPI), errors.Is(err, client.ErrNotFound):
	case a.contract == nil && (errors.Is(err, client.ErrAuth) || errors.Is(err, client.ErrInvalid)):
		// it is not there for this key
	case err != nil || !complete:
		a.status.Err, a.status.Complete = cmp.Or(err, a.status.Err), false
	}
}

// signed returns the event of a move, verified; nil if there is none that is
// right.
func (w wireMove) signed(col *client.Collector, id string) *nostr.Event {
	if len(w.Event) == 0 || string(w.Event) == "null" {
		return nil
	}
	ev, err := col.Admit(w.Event, nostr.Filter{Kinds: []int{kindState}, Tags: nostr.TagMap{"d": {id}}})
	if err != nil || ev.ID != w.EventID {
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

// Replay follows the state events of one pair of keys, verified ones, and those
// of the opens that either addressed to itself. The state is nil if there is
// none.
func Replay(events []*nostr.Event) (*niptemp.State, []Move) { return replay(events, nil) }
