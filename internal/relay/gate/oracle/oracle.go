// Package oracle is a second, deliberately slow and obvious reading of the
// read gate's rules, for tests to compare the product with. It knows events and
// their parties only: no scope, no class, no index. It shares no code with
// package gate and must not: two implementations that agree are the proof.
package oracle

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// Options are those of the gate under test; empty strings mean the default.
type Options struct {
	Wildcard  string
	IDs       string
	Contracts string
	Rules     []string
	Replicas  []string // keys that read everything
	// Found holds the ids of deletion requests of which each e named an open event
	// when they came. See Judge.
	Found map[string]bool
	// Disputes are what the contracts' states among the events that the relay has
	// taken say of who decides. See Judge.
	Disputes []Dispute

	AuthRequired bool
}

// A rule is one row of the table in the specification.
type rule struct {
	author, p bool // who reads
	ids, d    bool // what a filter may name instead
	everybody bool
}

// everything is the rule of what is not gated.
var everything = rule{everybody: true}

// ruleOfKind returns what a filter that names the kind must satisfy.
func ruleOfKind(o Options, kind int) rule {
	switch kind {
	case 30174:
		return rule{author: true, p: true, ids: o.IDs != "party"}
	case 30090, 30091:
		return rule{author: true, p: true, ids: true, d: o.Contracts == "" || o.Contracts == "contract", everybody: o.Contracts == "public"}
	case 1059, 21059, 44200:
		return rule{p: true}
	case 4, 24200:
		return rule{author: true, p: true}
	case 30179, 30300:
		return rule{author: true}
	}
	for _, line := range o.Rules {
		words := strings.Fields(line)
		if words[0] != strconv.Itoa(kind) {
			continue
		}
		readers := strings.Split(words[1], ",")
		r := rule{author: slices.Contains(readers, "author"), p: slices.Contains(readers, "p")}
		if len(words) > 2 {
			grants := strings.Split(words[2], ",")
			r.ids, r.d = slices.Contains(grants, "ids"), slices.Contains(grants, "d")
		}
		return r
	}
	return everything
}

// ruleOfEvent returns what decides whether the event itself may be seen.
func ruleOfEvent(o Options, ev *nostr.Event) rule {
	if ev.Kind == 5 && (namesGatedKind(o, ev) || len(named(ev)) > 0 && !o.Found[ev.ID]) {
		return rule{author: true}
	}
	if ev.Kind == 30078 && dOf(ev) == "engramd/agents" {
		return rule{author: true}
	}
	if ev.Kind == 30090 && !isObject(ev.Content) {
		return rule{author: true, p: true, ids: o.IDs != "party"}
	}
	return ruleOfKind(o, ev.Kind)
}

// namesGatedKind reports whether a deletion request is about what is gated.
func namesGatedKind(o Options, ev *nostr.Event) bool {
	// Of contracts that are public there are still sealed entries.
	o.Contracts = ""
	for _, tag := range ev.Tags {
		if len(tag) < 2 || (tag[0] != "k" && tag[0] != "a") {
			continue
		}
		parts := strings.SplitN(tag[1], ":", 3)
		kind, err := strconv.Atoi(strings.TrimSpace(parts[0]))
		if err != nil || (tag[0] == "k" && len(parts) > 1) {
			continue
		}
		if ruleOfKind(o, kind) != everything {
			return true
		}
		if tag[0] == "a" && kind == 30078 && len(parts) == 3 && parts[2] == "engramd/agents" {
			return true
		}
	}
	return false
}

// named returns the values of a deletion request's e tags.
func named(ev *nostr.Event) []string {
	var ids []string
	for _, tag := range ev.Tags {
		if len(tag) > 1 && tag[0] == "e" {
			ids = append(ids, tag[1])
		}
	}
	return ids
}

// Judge returns the options with Found for a relay that got these events in
// this order. What a request names is found if it is one of those before, by
// the same author, whether it was deleted meanwhile or not; requests for what
// was superseded before, or has expired, are the caller's to judge. Disputes
// are those that all of them make.
func Judge(o Options, events []*nostr.Event) Options {
	o.Found, o.Disputes = map[string]bool{}, disputes(events)
	strict := o
	strict.Contracts = "parties" // the option opens a kind to all, and makes no event an open one
	for i, ev := range events {
		if ev.Kind != 5 {
			continue
		}
		all := true
		for _, id := range named(ev) {
			all = all && slices.ContainsFunc(events[:i], func(old *nostr.Event) bool {
				return old.ID == id && old.PubKey == ev.PubKey && !Gated(strict, old)
			})
		}
		strict.Found[ev.ID] = all
	}
	return o
}

// Refused reports whether the first check refuses the filter: it returns
// "auth-required" or "restricted", or "" when the filter is let through.
func Refused(o Options, reader []string, f nostr.Filter) string {
	prefix := "restricted"
	if len(reader) == 0 {
		prefix = "auth-required"
		if o.AuthRequired {
			return prefix
		}
	}
	if replica(o, reader) {
		return ""
	}
	if f.Kinds == nil {
		if len(f.IDs) > 0 || allMine(reader, f.Authors) || allMine(reader, f.Tags["p"]) || o.Wildcard == "exclude" {
			return ""
		}
		return prefix
	}
	for _, kind := range f.Kinds {
		r := ruleOfKind(o, kind)
		switch {
		case r.everybody:
		case r.ids && len(f.IDs) > 0:
		case r.d && len(f.Tags["d"]) > 0:
		case r.author && allMine(reader, f.Authors):
		case r.p && allMine(reader, f.Tags["p"]):
		case (kind == 30090 || kind == 30091) && allDisputes(mine(o, reader), f.Tags["d"]):
		default:
			return prefix
		}
	}
	return ""
}

// Visible reports whether the reader may learn of the event in answer to the
// filter. It is false when the filter is refused or does not match. Limit,
// search, expiry and replacement are the caller's business.
func Visible(o Options, reader []string, f nostr.Filter, ev *nostr.Event) bool {
	return Refused(o, reader, f) == "" && Matches(f, ev) && May(o, reader, f, ev)
}

// May returns the second check alone: whether an event that the filter matches
// may be seen by the reader, were the filter let through.
func May(o Options, reader []string, f nostr.Filter, ev *nostr.Event) bool {
	if o.AuthRequired && len(reader) == 0 {
		return false
	}
	r := ruleOfEvent(o, ev)
	if r.everybody || replica(o, reader) {
		return true
	}
	if r.author && slices.Contains(reader, ev.PubKey) {
		return true
	}
	for _, tag := range ev.Tags {
		if r.p && len(tag) > 1 && tag[0] == "p" && slices.Contains(reader, tag[1]) {
			return true
		}
	}
	if r.ids && slices.Contains(f.IDs, ev.ID) {
		return true
	}
	// A contract is named in a filter for contracts; one without kinds shows
	// what the reader is a party to.
	if f.Kinds != nil && slices.Contains(f.Tags["d"], dOf(ev)) && Decides(o, reader, ev) {
		return true
	}
	return r.d && f.Kinds != nil && slices.Contains(f.Tags["d"], dOf(ev))
}

// Gated reports whether somebody may not see the event.
func Gated(o Options, ev *nostr.Event) bool { return !ruleOfEvent(o, ev).everybody }

// replica reports whether the operator lets a key of the reader see everything.
func replica(o Options, reader []string) bool {
	return slices.ContainsFunc(reader, func(key string) bool { return slices.Contains(o.Replicas, key) })
}

func allMine(reader, named []string) bool {
	for _, pk := range named {
		if !slices.Contains(reader, pk) {
			return false
		}
	}
	return len(named) > 0
}

func dOf(ev *nostr.Event) string {
	for _, tag := range ev.Tags {
		if len(tag) > 1 && tag[0] == "d" {
			return tag[1]
		}
	}
	return ""
}

func isObject(content string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(content), &members) == nil && members != nil
}

// Party reports whether the reader is one of those for whom the event is meant,
// or a replica: no id, no contract's name and no other option makes anybody else
// one.
func Party(o Options, reader []string, ev *nostr.Event) bool {
	o.Contracts = "parties"
	r := ruleOfEvent(o, ev)
	if replica(o, reader) {
		return true
	}
	if r.author && slices.Contains(reader, ev.PubKey) {
		return true
	}
	for _, tag := range ev.Tags {
		if r.p && len(tag) > 1 && tag[0] == "p" && slices.Contains(reader, tag[1]) {
			return true
		}
	}
	return false
}

// Decides reports whether the event is part of a contract that the reader is
// the arbitrator of.
func Decides(o Options, reader []string, ev *nostr.Event) bool {
	return inDispute(mine(o, reader), ev)
}

// Past returns the superseded versions that a relay keeps which got these
// events in this order: those of gated kinds that were heads once, and contract
// memory also when it came too late to be one, or was taken back.
func Past(o Options, events []*nostr.Event) []*nostr.Event {
	o.Contracts = "parties"
	heads := Heads(events)
	var past []*nostr.Event
	for i, ev := range events {
		late := !slices.Contains(Heads(events[:i+1]), ev)
		contract := ev.Kind == 30090 || ev.Kind == 30091
		if contract && TakenBack(ev, events) || !slices.Contains(heads, ev) && Gated(o, ev) && (!late || contract) {
			past = append(past, ev)
		}
	}
	return past
}
