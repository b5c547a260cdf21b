package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
	"engramd/internal/protocol/wire"
	"engramd/nips/niptemp"
)

// orderFile is the order of arrival as a relay's API gives it.
type orderFile struct {
	ContractID string          `json:"contract_id"`
	Event      json.RawMessage `json:"event"`
	Lines      string          `json:"lines"`
	// Keys are statements of former keys of the relay.
	Keys []json.RawMessage `json:"keys"`
}

// order checks the order of arrival that a relay has signed. Without one, dates
// are all there is, and they are their authors' word.
func (c *checking) order() {
	if len(c.files.Order) == 0 {
		c.done(Check{Name: "order", Outcome: NotProved}, "order unproven: no relay's word on the order of arrival is here, and created_at is its author's word")
		return
	}
	named := []string{c.o.Relay}
	if c.o.Relay == "" {
		named = c.agreed.OrderKeys()
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
	if err == nil {
		c.r.order, c.r.places = &contract.Order{Event: ev, Keys: contract.Statements(said.Keys)}, map[string]niptemp.OrderItem{}
	}
	switch {
	case err != nil:
		k.fail("its event: %v", err)
	case c.o.Relay != "" && !c.r.order.By(named):
		k.fail("it is signed by %s, and not by the relay that was named", ev.PubKey)
	case ev.PubKey == c.r.Poster || ev.PubKey == c.r.Worker:
		k.fail("it is signed by a party of the contract, and not by a relay")
	case said.Lines == "":
		c.done(Check{Name: "order", Outcome: NotProved}, "order unproven: the lines that the relay's event is of are not here")
		return
	}
	var items []niptemp.OrderItem
	if k.Outcome != Failed {
		if items, err = niptemp.CheckOrder(ev, c.r.Contract, said.Lines); err != nil {
			k.fail("%v", err)
		}
	}
	if k.Outcome == Failed {
		c.done(k, "order unproven")
		return
	}
	c.r.order.Items = items
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
		c.r.places[item.ID] = item
	}
	for _, ev := range slices.Concat(c.states, c.entries) {
		if !stands[ev.ID] {
			k.fail("event %s has no number", ev.ID)
		}
	}
	switch {
	case c.r.order.By(named):
		c.r.Relay = ev.PubKey
	case k.Outcome != Failed:
		k.Outcome = NotProved
	}
	if k.Outcome == NotProved {
		c.done(k, "not proved by a key that the parties named: %s has signed it; --relay-key says whose word counts", ev.PubKey)
	} else {
		c.done(k, "%d events arrived in the order that the relay %s has signed", len(items)-gaps-sealed, ev.PubKey)
	}
	if gaps > 0 {
		c.note("gaps", "%d numbers stand for what the relay had to remove, by its word alone", gaps)
	}
}

// SealedFile lists the entries of a contract that were sealed between its
// parties, and that the exporter, who is none, was told of and not shown.
type SealedFile struct {
	ContractID string   `json:"contract_id"`
	Entries    []Sealed `json:"entries"`
}

// Sealed is one of them, by the word of the relay that keeps the contract.
type Sealed struct {
	N       int64  `json:"n,omitempty"` // its number in the order of arrival
	EntryID string `json:"entry_id"`
	Author  string `json:"author,omitempty"` // pubkey in hex
	Type    string `json:"type"`
	Bytes   int64  `json:"bytes"` // of the payload
	SHA256  string `json:"sha256"`
}

// sealed reads the list of sealed entries that are not here.
func (c *checking) sealed() {
	if len(c.files.Sealed) == 0 {
		return
	}
	k, said := Check{Name: "sealed entries"}, SealedFile{}
	switch {
	case json.Unmarshal(c.files.Sealed, &said) != nil:
		k.fail("%s is no list of sealed entries", SealedList)
	case said.ContractID != c.r.Contract:
		k.fail("%s is of another contract", SealedList)
	}
	if k.Outcome == Failed {
		c.done(k, "none is known")
		return
	}
	for _, e := range said.Entries[:min(len(said.Entries), maxEvents)] {
		c.unseen[e.SHA256] = e
		if e.N > 0 {
			c.ordered[e.N] = ""
		}
	}
	c.note("sealed entries", "%d sealed entries are not here; a relay's word says how long their payloads are, and what their hashes are", len(c.unseen))
}

// listed reports whether the event of a sealed entry, which somebody has
// disclosed, is one that is listed and not here: that which has its number in
// the order, if there is one.
func (c *checking) listed(ev *nostr.Event) bool {
	sum := sha256.Sum256([]byte(ev.Content))
	s, ok := c.unseen[hex.EncodeToString(sum[:])]
	id := c.ordered[s.N]
	return ok && s.Bytes == int64(len(ev.Content)) && (s.Author == "" || s.Author == ev.PubKey) && ev.Tags.GetD() == c.r.Contract && (id == "" || id == ev.ID)
}

// Outcome is what became of a check.
type Outcome string

// The outcomes of a check.
const (
	OK         Outcome = "ok"
	Failed     Outcome = "failed"
	NotChecked Outcome = "not checked"
	NotProved  Outcome = "not proved" // looked at; nothing that was signed shows it
)

// Check is one thing that was looked at.
type Check struct {
	Name    string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Detail says what was found, or why nothing could be.
	Detail string `json:"detail"`
	// Problems are what failed, at most maxProblems of them.
	Problems []string `json:"problems,omitempty"`
}

// maxProblems bounds what is told of one check.
const maxProblems = 20

func (c *Check) fail(format string, args ...any) {
	c.Outcome = Failed
	if len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
	}
}

// Report is what is known after all checks. Its texts are of whoever signed
// them.
type Report struct {
	Contract string  `json:"contract_id"`
	Poster   string  `json:"poster_pubkey"` // hex; "" if it is not known
	Worker   string  `json:"worker_pubkey"`
	Status   string  `json:"status"` // where the signed states lead; "" if there is none
	Entries  int     `json:"entries"`
	Moves    int     `json:"moves"`
	Sealed   int     `json:"sealed"`
	Checks   []Check `json:"checks"`
	// Relay is the key whose signed order of arrival counts, in hex; "" for none.
	Relay string `json:"order_pubkey,omitempty"`
	// Disclosed are the sealed entries whose texts were opened.
	Disclosed []contract.Entry `json:"-"`

	events []*nostr.Event
	byID   map[string]*nostr.Event
	order  *contract.Order
	places map[string]niptemp.OrderItem
}

// Events are those that were verified, each once, in the order of the file.
func (r Report) Events() []*nostr.Event { return r.events }

// Event returns one of them by its id; nil for none.
func (r Report) Event(id string) *nostr.Event { return r.byID[id] }

// Order is what somebody signed on the order of arrival, as far as its event; nil
// for none. Whether it counts is said by Relay.
func (r Report) Order() *contract.Order { return r.order }

// Places are where events stand by it.
func (r Report) Places() map[string]niptemp.OrderItem { return r.places }

// Proved reports whether nothing that was looked at is without a proof.
func (r Report) Proved() bool {
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Outcome == NotProved })
}

// Holds reports whether no check failed.
func (r Report) Holds() bool {
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Outcome == Failed })
}
