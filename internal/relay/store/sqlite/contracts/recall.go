package contracts

import (
	"bytes"
	"engramd/internal/relay/store/sqlite/column"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nip01"
)

var whyForgotten = nip01.Refuse(nip01.PrefixBlocked, "too much of this contract was forgotten when its author asked to vanish")

// recall gives its key back to whoever writes under a contract again: he is
// known by the event. It refuses who has so much under it that others would
// wait.
func (w *parties) recall(ev *nostr.Event) (refusal *nip01.Refusal, err error) {
	if !w.events.SomeVanished() {
		return nil, nil
	}
	key, ok := column.Hex32(ev.PubKey)
	if !ok {
		return nil, nil
	}
	contract := ev.Tags.GetD()
	party, err := standIn(w.c, contract, key)
	if err != nil || bytes.Equal(party, key) {
		return nil, err
	}
	n, err := w.renameParty(contract, party, key, maxFold)
	if err != nil {
		return nil, err
	}
	if n >= maxFold {
		return whyForgotten, nil
	}
	_, err = w.Exec(sqlRemembered, contract, party)
	return nil, err
}

// masked is a contract event with hashes for those whom it is addressed to and
// who are forgotten: as it is judged by what outlives events.
func (w *parties) masked(ev *nostr.Event) (*nostr.Event, error) {
	if !w.events.SomeVanished() {
		return ev, nil
	}
	out, contract, named := ev, ev.Tags.GetD(), 0
	for i, t := range ev.Tags {
		if len(t) < 2 || t[0] != "p" {
			continue
		}
		if named++; named > maxMasked {
			break
		}
		key, ok := column.Hex32(t[1])
		if !ok {
			continue
		}
		party, err := standIn(w.c, contract, key)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(party, key) {
			continue
		}
		if out == ev {
			clone := *ev
			out, clone.Tags = &clone, slices.Clone(ev.Tags)
		}
		out.Tags[i] = slices.Clone(t)
		out.Tags[i][1] = column.HexOf(party)
	}
	return out, nil
}

// maxMasked is how many p tags of a contract event are looked at: a decision
// has two, all else one.
const maxMasked = 2
