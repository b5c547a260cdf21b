package evidence

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
)

// withdrawals looks at what was taken back.
func (c *checking) withdrawals() {
	if len(c.requests) == 0 {
		c.note("withdrawals", "no request to withdraw is here; whether there was one is the relay's to say")
		return
	}
	at := map[string][]*nostr.Event{} // by address
	for _, ev := range slices.Concat(c.entries, c.states) {
		address := fmt.Sprintf("%d:%s:%s", ev.Kind, ev.PubKey, c.r.Contract)
		at[address] = append(at[address], ev)
	}
	k, withdrawn := Check{Name: "withdrawals"}, map[string]bool{}
	for _, ev := range c.requests {
		found, addresses := false, map[string]bool{}
		for _, tag := range ev.Tags {
			if len(tag) < 2 {
				continue
			}
			var named []*nostr.Event
			if of := c.byID[tag[1]]; tag[0] == "e" && of != nil && of.Kind != nostr.KindDeletion {
				named = []*nostr.Event{of}
			} else if tag[0] == "a" && !addresses[tag[1]] {
				addresses[tag[1]], named = true, at[tag[1]]
			}
			for _, of := range named {
				switch {
				case tag[0] == "a" && of.CreatedAt > ev.CreatedAt:
				case of.PubKey != ev.PubKey:
					k.fail("request %s is not by the author of %s", ev.ID, of.ID)
				default:
					found, withdrawn[of.ID] = true, true
				}
			}
		}
		if !found {
			k.fail("request %s withdraws nothing that is here", ev.ID)
		}
	}
	c.done(k, "%d entries and states were withdrawn by their authors, and are here all the same", len(withdrawn))
}

// disclosed checks what was opened of sealed entries.
func (c *checking) disclosed() {
	k, opened := Check{Name: "disclosed texts"}, map[string]bool{}
	names := make([]string, 0, len(c.files.Disclosures))
	for name := range c.files.Disclosures {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		d, err := contract.ReadDisclosure(bytes.TrimSpace(c.files.Disclosures[name]))
		switch {
		case err != nil:
			k.fail("%s: %v", name, err)
		case c.byID[d.Event.ID] == nil && !c.listed(d.Event):
			k.fail("%s: its entry is not among the events", name)
		case !opened[d.Event.ID]:
			opened[d.Event.ID] = true
			c.r.Disclosed = append(c.r.Disclosed, d.Entry)
		}
	}
	if len(names) > 0 {
		c.done(k, "%d sealed entries say what their message keys open", len(opened))
	}
	if left := c.r.Sealed + len(c.unseen) - len(opened); left > 0 {
		c.note("sealed texts", "%d sealed entries are not disclosed: their signatures cover payloads, and what those say is nobody's word here", left)
	}
}
