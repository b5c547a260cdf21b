package evidence

import (
	"encoding/json"
	"slices"

	"engramd/internal/protocol/wire"
	"engramd/nips/niptemp"
)

// orderFile is the order of arrival as a relay's API gives it.
type orderFile struct {
	ContractID string          `json:"contract_id"`
	Event      json.RawMessage `json:"event"`
	Lines      string          `json:"lines"`
}

// order checks the order of arrival that a relay has signed. Without one, dates
// are all there is, and they are their authors' word.
func (c *checking) order() {
	if len(c.files.Order) == 0 {
		c.note("order", "order unproven: no relay's word on the order of arrival is here, and created_at is its author's word")
		return
	}
	k := Check{Name: "order"}
	var said orderFile
	if json.Unmarshal(c.files.Order, &said) != nil {
		k.fail("%s is no order of arrival", OrderFile)
		c.done(k, "order unproven")
		return
	}
	ev, err := wire.ParseEvent(said.Event)
	if err == nil {
		err = wire.Verify(ev)
	}
	switch {
	case err != nil:
		k.fail("its event: %v", err)
	case c.o.Relay != "" && ev.PubKey != c.o.Relay:
		k.fail("it is signed by %s, and not by the relay that was named", ev.PubKey)
	case ev.PubKey == c.r.Poster || ev.PubKey == c.r.Worker:
		k.fail("it is signed by a party of the contract, and not by a relay")
	case said.Lines == "":
		c.note("order", "order unproven: the lines that the relay's event is of are not here")
		return
	}
	if k.Outcome == Failed {
		c.done(k, "order unproven")
		return
	}
	items, err := niptemp.CheckOrder(ev, c.r.Contract, said.Lines)
	if err != nil {
		k.fail("%v", err)
		c.done(k, "order unproven")
		return
	}
	c.r.Relay = ev.PubKey
	stands, gaps, sealed := map[string]bool{}, 0, 0
	for _, item := range items {
		_, listed := c.ordered[item.N]
		switch {
		case item.ID == "":
			gaps++
		case c.byID[item.ID] == nil && listed:
			c.ordered[item.N] = item.ID
			sealed++
		case c.byID[item.ID] == nil:
			k.fail("number %d, event %s, is not here", item.N, item.ID)
		}
		stands[item.ID] = true
	}
	for _, ev := range slices.Concat(c.states, c.entries) {
		if !stands[ev.ID] {
			k.fail("event %s has no number", ev.ID)
		}
	}
	c.done(k, "%d events arrived in the order that the relay %s has signed", len(items)-gaps-sealed, ev.PubKey)
	if c.o.Relay == "" {
		c.note("relay", "whose key signed the order was not asked for; --relay-key demands it")
	}
	if gaps > 0 {
		c.note("gaps", "%d numbers stand for what the relay had to remove, by its word alone", gaps)
	}
}
