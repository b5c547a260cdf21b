package evidence

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
	"engramd/internal/protocol/wire"
	"engramd/nips/niptemp"
)

// Options say what the checker knows besides.
type Options struct {
	// Relay is the key in hex of the relay whose word on the order of arrival is
	// believed; "" for the key on which the parties agreed.
	Relay string
}

// checking is one check of all the files.
type checking struct {
	o        Options
	files    Files
	r        Report
	events   []*nostr.Event // verified ones, each once, in the order of the file
	byID     map[string]*nostr.Event
	entries  []*nostr.Event
	states   []*nostr.Event
	requests []*nostr.Event    // kind 5
	unseen   map[string]Sealed // sealed entries that are listed and not here, by their hashes
	ordered  map[int64]string  // the ids that the order has at their numbers
	agreed   niptemp.Terms     // what both parties have signed
}

// Verify checks files. The error is ErrInput where there is nothing to check.
func Verify(f Files, o Options) (Report, error) {
	c := &checking{o: o, files: f, byID: map[string]*nostr.Event{}, unseen: map[string]Sealed{}, ordered: map[int64]string{}}
	if err := c.signatures(); err != nil {
		return c.r, err
	}
	c.contract()
	c.shapes()
	c.follow()
	c.parties()
	c.owner()
	c.sealed()
	c.order()
	c.withdrawals()
	c.disclosed()
	c.r.events, c.r.byID = c.events, c.byID
	return c.r, nil
}

// done adds a check, ok if nothing failed in it.
func (c *checking) done(k Check, format string, args ...any) {
	if k.Outcome == "" {
		k.Outcome = OK
	}
	k.Detail = fmt.Sprintf(format, args...)
	c.r.Checks = append(c.r.Checks, k)
}

// note adds what could not be checked.
func (c *checking) note(name, format string, args ...any) {
	c.r.Checks = append(c.r.Checks, Check{Name: name, Outcome: NotChecked, Detail: fmt.Sprintf(format, args...)})
}

// signatures reads the events, and keeps those that are what they were signed
// as.
func (c *checking) signatures() error {
	k, lines := Check{Name: "signatures"}, 0
	for line := range bytes.Lines(c.files.Events) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if lines++; lines > maxEvents {
			return fmt.Errorf("%w: it has more than %d events", ErrInput, maxEvents)
		}
		ev, err := wire.ParseEvent(line)
		if err != nil {
			k.fail("line %d is no event: %v", lines, err)
			continue
		}
		if err := wire.Verify(ev); err != nil {
			k.fail("line %d: %v", lines, err)
			continue
		}
		if c.byID[ev.ID] != nil {
			continue
		}
		c.byID[ev.ID] = ev
		c.events = append(c.events, ev)
	}
	if lines == 0 {
		return fmt.Errorf("%w: it has no event", ErrInput)
	}
	c.done(k, "ids and signatures of %d events", lines)
	return nil
}

// contract sorts the events, all of which are of one contract.
func (c *checking) contract() {
	k := Check{Name: "one contract"}
	for _, ev := range c.events {
		d := ev.Tags.GetD()
		switch ev.Kind {
		case niptemp.KindEntry, niptemp.KindState:
			if c.r.Contract == "" {
				c.r.Contract = d
			}
			if d != c.r.Contract {
				k.fail("event %s is of another contract", ev.ID)
				continue
			}
			if ev.Kind == niptemp.KindEntry {
				c.entries = append(c.entries, ev)
			} else {
				c.states = append(c.states, ev)
			}
		case nostr.KindDeletion:
			c.requests = append(c.requests, ev)
		default:
			k.fail("event %s is of kind %d, which is no part of contract memory", ev.ID, ev.Kind)
		}
	}
	c.r.Entries, c.r.Moves = len(c.entries), len(c.states)
	c.done(k, "%d entries and %d states of one id, %d requests to withdraw", len(c.entries), len(c.states), len(c.requests))
}

func (c *checking) shapes() {
	k := Check{Name: "shapes"}
	for _, ev := range c.entries {
		if err := niptemp.CheckEntry(ev); err != nil {
			k.fail("entry %s: %v", ev.ID, err)
		} else if niptemp.IsSealed(ev) {
			c.r.Sealed++
		}
	}
	for _, ev := range c.states {
		if err := niptemp.CheckStateShape(ev); err != nil {
			k.fail("state %s: %v", ev.ID, err)
		}
	}
	c.done(k, "every entry and state says what NIP-TEMP wants it to")
}

// follow follows the states to where they lead.
func (c *checking) follow() {
	if len(c.states) == 0 {
		c.note("states follow", "there is no state: who of the two is the poster, and where the contract stands, is not known")
		return
	}
	k := Check{Name: "states follow"}
	state, moves := contract.Replay(slices.Clone(c.states), nil)
	for _, m := range moves {
		if !m.Follows {
			k.fail("state %s, to %s: %s", m.Event.ID, m.To, m.Why)
		}
	}
	if state != nil {
		c.r.Poster, c.r.Worker, c.r.Status = state.Poster, state.Worker, string(state.Status)
		c.agreed = contract.Agreed(c.states, state.Poster, state.Worker)
	}
	c.done(k, "from one to the next by who may make each move; the last is %q", c.r.Status)
}

// parties wants entries to be between the two whose contract it is.
func (c *checking) parties() {
	k := Check{Name: "parties"}
	if c.r.Poster == "" && len(c.entries) > 0 {
		c.r.Poster, c.r.Worker = c.entries[0].PubKey, c.entries[0].Tags.Find("p").Value()
		made := func(ev *nostr.Event) bool { return ev.PubKey == c.r.Worker && niptemp.ProvenSalt(ev) != "" }
		if slices.ContainsFunc(c.entries, made) { // who spoke first is another than who made the id
			c.r.Poster, c.r.Worker = c.r.Worker, c.r.Poster
		}
	}
	ours := func(key string) bool { return key == c.r.Poster || key == c.r.Worker && key != "" }
	for _, ev := range c.entries {
		if !ours(ev.PubKey) || !ours(ev.Tags.Find("p").Value()) {
			k.fail("entry %s is by or to another key", ev.ID)
		}
	}
	c.done(k, "every entry is by one of the two keys, to the other")
}

// owner looks for the salt that shows whose the contract's id is.
func (c *checking) owner() {
	k, proved := Check{Name: "id"}, false
	for _, ev := range slices.Concat(c.states, c.entries) {
		if niptemp.ProvenSalt(ev) == "" {
			continue
		}
		proved = true
		if ev.PubKey != c.r.Poster {
			k.fail("by its salt the id is that of %s, who is not the poster", ev.PubKey)
			break
		}
	}
	if !proved {
		c.note("id", "no event shows a salt: nothing proves that the poster made the id")
		return
	}
	c.done(k, "by its salt the poster made the id, and nobody else can have")
}
