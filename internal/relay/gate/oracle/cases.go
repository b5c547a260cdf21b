package oracle

import (
	"encoding/json"
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// A Dispute is a contract between two keys who have both named the same
// arbitrator, with all whom they named to decide about it.
type Dispute struct {
	contract, arbitrator string
	keys                 []string
}

// disputes reads from the state events among those that the relay got who may
// read which contracts as their arbitrator.
func disputes(events []*nostr.Event) (found []Dispute) {
	for _, accepted := range events {
		if !isMove(accepted, "open", "accepted") {
			continue
		}
		worker, poster := accepted.PubKey, tag(accepted, "p")
		d := Dispute{contract: dOf(accepted), keys: []string{poster, worker}}
		for _, name := range []string{"arbitrator", "decider", "expirer"} {
			key := tag(accepted, name)
			offered := slices.ContainsFunc(events, func(ev *nostr.Event) bool {
				return isMove(ev, "", "open") && ev.PubKey == poster && dOf(ev) == d.contract &&
					(tag(ev, "p") == poster || tag(ev, "p") == worker) && tag(ev, name) == key
			})
			if key == "" || !offered || poster == worker {
				continue
			}
			d.keys = append(d.keys, key)
			if name == "arbitrator" {
				d.arbitrator = key
			}
		}
		if d.arbitrator != "" {
			found = append(found, d)
		}
	}
	return found
}

// isMove reports whether the event is a contract's state, between two keys,
// that leads from one status to another.
func isMove(ev *nostr.Event, from, to string) bool {
	var says struct {
		Status   string `json:"status"`
		Previous string `json:"previous_status"`
	}
	if ev.Kind != 30091 || json.Unmarshal([]byte(ev.Content), &says) != nil {
		return false
	}
	return says.Status == to && (says.Previous == from || to == "open" && says.Previous == "open")
}

// mine returns the disputes that the reader decides.
func mine(o Options, reader []string) []Dispute {
	return slices.DeleteFunc(slices.Clone(o.Disputes), func(d Dispute) bool { return !slices.Contains(reader, d.arbitrator) })
}

// allDisputes reports whether every contract named is one of them.
func allDisputes(list []Dispute, named []string) bool {
	for _, id := range named {
		if !slices.ContainsFunc(list, func(d Dispute) bool { return d.contract == id }) {
			return false
		}
	}
	return len(named) > 0
}

// inDispute reports whether the event is what those of a dispute said to each
// other in the open.
func inDispute(list []Dispute, ev *nostr.Event) bool {
	if ev.Kind != 30091 && (ev.Kind != 30090 || !isObject(ev.Content)) {
		return false
	}
	return slices.ContainsFunc(list, func(d Dispute) bool {
		among := d.contract == dOf(ev) && slices.Contains(d.keys, ev.PubKey)
		for _, t := range ev.Tags {
			if len(t) > 1 && t[0] == "p" {
				among = among && slices.Contains(d.keys, t[1])
			}
		}
		return among
	})
}

// tag returns the value of the first tag of a name.
func tag(ev *nostr.Event, name string) string {
	for _, t := range ev.Tags {
		if len(t) > 1 && t[0] == name {
			return t[1]
		}
	}
	return ""
}
