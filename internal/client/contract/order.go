package contract

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/wire"
	"engramd/nips/niptemp"
)

// Order is the word of the relay that keeps a contract on the order in
// which its states and entries arrived.
type Order struct {
	// Event is the signed order, kind 24174: its signature is right and it is of
	// Lines. Whether its author is the relay's key is for who checks it to know.
	Event *nostr.Event
	Lines string
	Items []niptemp.OrderItem // what Lines say
	Gaps  []Gap
	// Keys are verified statements of relays' keys who their successors are.
	Keys []*nostr.Event
}

// By reports whether one of these keys has signed the order, or a key that they
// have handed over to.
func (o *Order) By(keys []string) bool {
	return slices.Contains(niptemp.Succeed(keys, o.Keys), o.Event.PubKey)
}

// maxKeys bounds the statements that are looked at.
const maxKeys = 32

// Statements reads statements of keys. What is none is left out.
func Statements(all []json.RawMessage) (out []*nostr.Event) {
	for _, text := range all[:min(len(all), maxKeys)] {
		if ev, err := wire.ParseEvent(text); err == nil && wire.Verify(ev) == nil {
			out = append(out, ev)
		}
	}
	return out
}

// Gap is what is left of what had to go. Times are Unix seconds.
type Gap struct {
	N, ReceivedAt    int64
	Type             string // of the entry, or "state"
	Role             string // of its author, "" if it is not known
	Status, Previous string // of a state
	CreatedAt        int64  // of a state, 0 for others
}

// Withdrawal says that an author took something back (NIP-09).
type Withdrawal struct {
	At      int64  // when the relay was told, Unix seconds
	Request string // id of the kind 5, "" if it is not known
	Event   *nostr.Event
}

// wireWithdrawal is one as the API has it: event is the signed request, its id,
// or null.
type wireWithdrawal struct {
	At    moment          `json:"at"`
	Event json.RawMessage `json:"event"`
}

// withdrawal returns what it says. An invalid request is ignored, and the
// relay's word stays.
func (w *wireWithdrawal) withdrawal() *Withdrawal {
	if w == nil {
		return nil
	}
	out := &Withdrawal{At: int64(w.At)}
	if err := json.Unmarshal(w.Event, &out.Request); err == nil {
		if !nostr.IsValid32ByteHex(out.Request) {
			out.Request = ""
		}
		return out
	}
	if ev, err := wire.ParseEvent(w.Event); err == nil && ev.Kind == nostr.KindDeletion && wire.Verify(ev) == nil {
		out.Request, out.Event = ev.ID, ev
	}
	return out
}

// wireOrder is an order as the API has it.
type wireOrder struct {
	Event json.RawMessage `json:"event"`
	Lines string          `json:"lines"`
	Gaps  []struct {
		N          int64  `json:"n"`
		ReceivedAt moment `json:"received_at"`
		Type       string `json:"type"`
		Role       string `json:"role"`
		Status     string `json:"status"`
		Previous   string `json:"previous_status"`
		CreatedAt  moment `json:"created_at"`
	} `json:"gaps"`
	Keys []json.RawMessage `json:"keys"`
}

// order asks the relay that keeps the contract in which order everything
// arrived. A caller who may not know and a relay that does not tell are no
// failures; a false order is.
func (g *gathering) order(ctx context.Context, c Contract) *Order {
	if c.Home == "" || !c.party(g.c.Identity().PubKey()) && c.Arbitrator.PubKey != g.c.Identity().PubKey() {
		return nil
	}
	var w wireOrder
	err := g.c.HTTP().API(ctx, relayAt(c.Home), client.Call{Path: contractPath(g.id, "order"), Query: byPoster(g.poster)}, &w)
	refused := (*client.APIError)(nil)
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable: // it has no key to sign with
		return nil
	case errors.Is(err, client.ErrNoAPI), errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrAuth), errors.Is(err, client.ErrInvalid), err == nil && w.Lines == "" && len(w.Event) == 0:
		return nil
	}
	var o *Order
	if err == nil {
		o, err = w.order(g.id)
	}
	if err != nil {
		g.add([]client.RelayStatus{{URL: c.Home, Err: err}}, nil)
		return nil
	}
	return o
}

// Arrivals asks the API of a relay for the signed order in which a contract came
// to be there: its lines by the ids of events.
func Arrivals(ctx context.Context, c *client.Client, t client.Target, id string) (map[string]niptemp.OrderItem, error) {
	var w wireOrder
	if err := c.HTTP().API(ctx, t, client.Call{Path: contractPath(id, "order")}, &w); err != nil {
		return nil, err
	}
	o, err := w.order(id)
	if err != nil {
		return nil, err
	}
	return o.places(), nil
}

func (w wireOrder) order(id string) (*Order, error) {
	ev, err := wire.ParseEvent(w.Event)
	if err == nil {
		err = wire.Verify(ev)
	}
	o := &Order{Event: ev, Lines: w.Lines, Keys: Statements(w.Keys)}
	if err == nil && (w.Lines != "" || len(w.Gaps) > 0) {
		o.Items, err = niptemp.CheckOrder(ev, id, w.Lines)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the order of arrival that it gave is none: %w", client.ErrMisbehaved, err)
	}
	for _, gap := range w.Gaps {
		o.Gaps = append(o.Gaps, Gap{N: gap.N, ReceivedAt: int64(gap.ReceivedAt), Type: client.Printable(gap.Type), Role: client.Printable(gap.Role),
			Status: client.Printable(gap.Status), Previous: client.Printable(gap.Previous), CreatedAt: int64(gap.CreatedAt)})
	}
	return o, nil
}

// places returns the lines of an order by the ids of events.
func (o *Order) places() map[string]niptemp.OrderItem {
	places := map[string]niptemp.OrderItem{}
	if o == nil {
		return places
	}
	for _, item := range o.Items {
		if item.ID != "" {
			places[item.ID] = item
		}
	}
	return places
}

// Place is where something stands in a thread: its number, or what stands for
// it, and among private entries of one number their own; 0 where the relay that
// keeps the thread does not have it, or does not tell. Then it stands where its
// date puts it.
type Place struct {
	N, K      int64
	CreatedAt int64
	ID        string
}

// Arrange puts things of a thread in order: those with a number by it, and
// between them, by their dates, those without.
func Arrange[T any](all []T, placed func(*T) Place) []T {
	var known, others []T
	for i := range all {
		if placed(&all[i]).N > 0 || placed(&all[i]).K > 0 {
			known = append(known, all[i])
		} else {
			others = append(others, all[i])
		}
	}
	slices.SortStableFunc(known, func(a, b T) int {
		x, y := placed(&a), placed(&b)
		return cmp.Or(cmp.Compare(x.N, y.N), cmp.Compare(x.K, y.K))
	})
	slices.SortStableFunc(others, func(a, b T) int {
		x, y := placed(&a), placed(&b)
		return cmp.Or(cmp.Compare(x.CreatedAt, y.CreatedAt), strings.Compare(x.ID, y.ID))
	})
	out := make([]T, 0, len(all))
	for len(known) > 0 && len(others) > 0 {
		if placed(&others[0]).CreatedAt < placed(&known[0]).CreatedAt {
			out, others = append(out, others[0]), others[1:]
		} else {
			out, known = append(out, known[0]), known[1:]
		}
	}
	return append(append(out, known...), others...)
}
