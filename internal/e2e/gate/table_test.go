package gate

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
)

// gateRules gate three kinds more.
var gateRules = []string{"4550 author,p ids", "30500 p d", "30078 author"}

// TestGateTable asks the filter shapes of the table as every reader on every
// surface, under three sets of options, and compares with an oracle that knows only
// events and parties. On most surfaces the options take turns: see gateShares.
// TestGateTableOfOthers asks under all other sets (make nightly).
func TestGateTable(t *testing.T) { gateTable(t, gateTableOptions()) }

func gateTable(t *testing.T, options []oracle.Options) {
	first := int(rig.Seed(t) % 4)
	for turn, o := range options {
		name := fmt.Sprintf("wildcard=%s,ids=%s,contracts=%s,rules=%d,replicas=%d,auth=%v", o.Wildcard, o.IDs, o.Contracts, len(o.Rules), len(o.Replicas), o.AuthRequired)
		t.Run(name, func(t *testing.T) {
			events := gateTableEvents()
			run := gateRun{build: rig.Plain, options: o, events: events, readers: gateTableReaders(), private: gateTablePrivate(), shares: gateTableShares(o, first+turn)}
			for _, r := range run.readers {
				asks := gateTableAsks(r, events, len(o.Rules) > 0)
				asks = append(asks, gateTablePast()...)
				run.asks = append(run.asks, append(asks, gateTableThreads(r, run.entryIDs)...))
			}
			run.run(t)
		})
	}
}

// TestGateTableHasEveryKind: for every kind in the gate's table there is an
// event here, and a filter that names the kind alone.
func TestGateTableHasEveryKind(t *testing.T) {
	have, named := map[int]bool{}, map[int]bool{}
	for _, ev := range gateTableHeads() {
		have[ev.Kind] = true
	}
	for _, k := range gateTableKinds(true) {
		if len(k.kinds) == 1 {
			named[k.kinds[0]] = true
		}
	}
	for _, kind := range gate.Kinds() {
		if !have[kind] || !named[kind] {
			t.Errorf("kind %d: events of it %v, filters for it %v", kind, have[kind], named[kind])
		}
	}
}

// gateTableOptions returns two sets of options with rules, one of them with the other
// defaults and one with everything inverted, and one of a private relay that is
// otherwise as open as possible.
func gateTableOptions() []oracle.Options {
	replicas := []string{rig.GateReplica.Pub}
	turned := oracle.Options{Replicas: replicas, Wildcard: "exclude", IDs: "party", Contracts: "parties", Rules: gateRules}
	private := oracle.Options{AuthRequired: true, Wildcard: "exclude", Contracts: "public"}
	return []oracle.Options{{Rules: gateRules, Replicas: replicas}, turned, private}
}

func gateTableReaders() []gateReader {
	return []gateReader{
		{"nobody", nil},
		{"a stranger", []relaytest.Key{rig.GateStranger}},
		{"the agent", []relaytest.Key{rig.GateAgent}},
		{"the owner", []relaytest.Key{rig.GateOwner}},
		{"agent and owner", []relaytest.Key{rig.GateAgent, rig.GateOwner}},
		{"the owner's other agent", []relaytest.Key{rig.GateSecond}},
		{"several keys", []relaytest.Key{rig.GateStranger, rig.GateWorker, rig.GateSecond}},
		{"the arbitrator", []relaytest.Key{rig.GateJudge}},
		{"a replica", []relaytest.Key{rig.GateReplica}},
		{"replica and stranger", []relaytest.Key{rig.GateStranger, rig.GateReplica}},
		{"arbitrator and stranger", []relaytest.Key{rig.GateStranger, rig.GateJudge}},
	}
}

// gateTableEvents returns older versions, then what supersedes them.
func gateTableEvents() []*nostr.Event {
	return append(gateTableVersions(), gateTableHeads()...)
}

// gateTableVersions returns versions that the heads supersede, of every class
// that keeps them, and with other parties than the heads.
func gateTableVersions() []*nostr.Event {
	at := int64(1_690_000_000)
	next := func() int64 { at++; return at }
	agent, owner, second, worker, stranger := rig.GateAgent, rig.GateOwner, rig.GateSecond, rig.GateWorker, rig.GateStranger
	p := func(k relaytest.Key) nostr.Tag { return nostr.Tag{"p", k.Pub} }
	d := func(d string) nostr.Tag { return nostr.Tag{"d", d} }
	sign := func(k relaytest.Key, kind int, content string, tags ...nostr.Tag) *nostr.Event {
		return relaytest.Sign(k, kind, next(), content, tags...)
	}
	return []*nostr.Event{
		relaytest.Memory(agent, owner.Pub, "core", "I was", next()),
		relaytest.Memory(agent, owner.Pub, "core", "I had been", next()),
		sign(agent, 30174, relaytest.Seal(agent, stranger.Pub, "x", "v1"), d(relaytest.Address(agent, owner.Pub, "mem/one")), p(stranger)),
		relaytest.Memory(second, owner.Pub, "mem/two", "cedar", next()),
		relaytest.Memory(worker, stranger.Pub, "mem/far", "cedar", next()),
		relaytest.Entry(agent, worker.Pub, "contract-1", "message", "a cedar draft", next()),
		relaytest.Entry(agent, stranger.Pub, "contract-2", "note", "cedar in plain text", next()),
		relaytest.SealedEntry(second, owner.Pub, "contract-1", "note", "cedar", next()),
		relaytest.SealedEntry(second, worker.Pub, "contract-3", "note", "sealed cedar", next()),
		sign(agent, 30300, "cedar to be thought of", d("contract-1"), p(owner)),
		sign(owner, 30078, "", d("engramd/agents"), p(worker)),
		sign(owner, 30078, "cedar", d("settings"), p(second)),
		sign(owner, 30500, "cedar shelf", d("contract-1"), p(worker)),
		sign(agent, 30023, "an old one on cedar", d("contract-1"), p(owner)),
		relaytest.Entry(agent, worker.Pub, "contract-5", "message", "cedar asked for", next()),
		relaytest.SealedEntry(worker, agent.Pub, "contract-5", "note", "sealed cedar", next()),
		relaytest.Entry(worker, stranger.Pub, "contract-5", "note", "cedar of another pair", next()),
	}
}

// gateTableHeads returns at least one event of every class and relation. Each
// has a time of its own, and nothing supersedes anything.
func gateTableHeads() []*nostr.Event {
	at := int64(1_700_000_000)
	next := func() int64 { at++; return at }
	sign := func(k relaytest.Key, kind int, content string, tags ...nostr.Tag) *nostr.Event {
		return relaytest.Sign(k, kind, next(), content, tags...)
	}
	agent, owner, second, worker, stranger := rig.GateAgent, rig.GateOwner, rig.GateSecond, rig.GateWorker, rig.GateStranger
	p := func(k relaytest.Key) nostr.Tag { return nostr.Tag{"p", k.Pub} }
	heads := []*nostr.Event{
		relaytest.Memory(agent, owner.Pub, "core", "I am", next()),
		relaytest.Memory(agent, owner.Pub, "mem/one", "cedar", next()),
		relaytest.Memory(agent, agent.Pub, "mem/own", "cedar", next()),
		relaytest.Memory(second, owner.Pub, "mem/two", "cedar", next()),
		relaytest.Memory(worker, stranger.Pub, "mem/far", "cedar", next()),

		relaytest.Entry(agent, worker.Pub, "contract-1", "message", "plain cedar", next()),
		relaytest.Entry(worker, agent.Pub, "contract-1", "deliverable", "a cedar table", next()),
		relaytest.SealedEntry(agent, worker.Pub, "contract-2", "note", "cedar", next()),
		relaytest.SealedEntry(second, owner.Pub, "contract-1", "note", "cedar", next()),
		relaytest.Entry(second, worker.Pub, "contract-3", "note", "other cedar", next()),
		relaytest.State(agent, worker.Pub, "contract-4", "open", "", next()),

		sign(stranger, 1059, relaytest.Seal(stranger, agent.Pub, "x", "w1"), p(agent)),
		sign(agent, 1059, relaytest.Seal(agent, owner.Pub, "x", "w2"), p(owner)),
		sign(agent, 44200, relaytest.Seal(agent, owner.Pub, "x", "m"), p(owner), p(second)),
		sign(agent, 4, "c2VjcmV0?iv=AAAAAAAAAAAAAAAAAAAAAA==", p(owner)),
		sign(stranger, 4, "c2VjcmV0?iv=AAAAAAAAAAAAAAAAAAAAAA==", p(second)),

		sign(agent, 5, "", nostr.Tag{"e", gateUnknown}, nostr.Tag{"k", "30174"}),
		sign(stranger, 5, "", nostr.Tag{"a", "30090:" + stranger.Pub + ":gone"}, p(agent)),
		sign(agent, 5, "", nostr.Tag{"a", "4550:" + agent.Pub + ":"}),
		sign(agent, 5, "", nostr.Tag{"e", gateUnknown}, nostr.Tag{"k", "1"}),

		sign(owner, 30078, "", nostr.Tag{"d", "engramd/agents"}, p(agent), p(second)),
		sign(owner, 30078, "dark cedar", nostr.Tag{"d", "settings"}, p(agent)),
		sign(agent, 4550, "approved cedar", p(owner)),
		sign(stranger, 4550, "approved cedar", p(worker)),
		sign(owner, 30500, "shelf", nostr.Tag{"d", "contract-1"}, p(agent)),

		sign(agent, 1, "a cedar", p(owner)),
		sign(stranger, 1, "another cedar"),
		sign(owner, 1, "an elm", p(agent), p(stranger)),
		sign(agent, 30023, "on cedar", nostr.Tag{"d", "contract-1"}),

		relaytest.State(agent, worker.Pub, "contract-5", "open", "", next()),
		sign(worker, 30091, `{"contract_id":"contract-5","status":"accepted","previous_status":"open","note":"cedar it is"}`,
			nostr.Tag{"d", "contract-5"}, p(agent)),
		relaytest.SealedEntry(agent, worker.Pub, "contract-5", "note", "cedar", next()),
		relaytest.Entry(worker, agent.Pub, "contract-5", "deliverable", "a cedar box", next()),
		relaytest.State(stranger, second.Pub, "contract-6", "open", "", next()), // his own; contract-5 is taken
		relaytest.Entry(stranger, second.Pub, "contract-5", "message", "a stranger's cedar", next()),
		relaytest.Entry(stranger, second.Pub, "contract-6", "message", "his cedar where it is his", next()),

		sign(stranger, 21059, relaytest.Seal(stranger, agent.Pub, "x", "w3"), p(agent)),
		sign(agent, 21059, relaytest.Seal(agent, owner.Pub, "x", "w4"), p(owner)),
		sign(agent, 24200, relaytest.Seal(agent, owner.Pub, "x", "o1"), p(owner)),
		sign(owner, 30179, relaytest.Seal(owner, owner.Pub, "x", "s1"), nostr.Tag{"d", "contract-1"}, p(agent)),
		sign(agent, 30300, "cedar to be bought", nostr.Tag{"d", "contract-1"}, p(owner)),
	}
	return append(append(heads, gateTableDeletions(next)...), gateTableCases(next)...)
}

// gateTableCases returns a disputed contract that its arbitrator ends, with
// everything that the arbitrator reads and what is hidden; an offer that names
// the arbitrator; and a contract whose worker did not repeat the arbitrator.
func gateTableCases(next func() int64) []*nostr.Event {
	agent, worker, stranger, judge := rig.GateAgent, rig.GateWorker, rig.GateStranger, rig.GateJudge
	terms := []nostr.Tag{{"arbitrator", judge.Pub}, {"decider", rig.GateSecond.Pub}}
	state := func(k relaytest.Key, contract, previous, status string, tags ...nostr.Tag) *nostr.Event {
		content := fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q,"note":"cedar of %s"}`, contract, status, previous, status)
		return relaytest.Sign(k, relaytest.KindState, next(), content, append([]nostr.Tag{{"d", contract}}, tags...)...)
	}
	p := func(k relaytest.Key) nostr.Tag { return nostr.Tag{"p", k.Pub} }
	taken := relaytest.Entry(worker, agent.Pub, gateCase, "note", "cedar that I take back", next())
	return []*nostr.Event{
		state(agent, gateCase, "", "open", append(terms, p(worker))...),
		state(worker, gateCase, "open", "accepted", append(terms, p(agent))...),
		relaytest.Entry(agent, worker.Pub, gateCase, "message", "cedar, as it was asked for", next()),
		relaytest.SealedEntry(agent, worker.Pub, gateCase, "note", "a promise of cedar", next()),
		taken, relaytest.Deletion(worker, next(), nostr.Tag{"e", taken.ID}),
		relaytest.SealedEntry(worker, agent.Pub, gateCase, "note", "a second promise of cedar", next()),
		relaytest.Entry(worker, agent.Pub, gateCase, "deliverable", "a cedar chest", next()),
		relaytest.Entry(stranger, agent.Pub, gateCase, "message", "cedar from outside", next()),
		relaytest.Entry(agent, worker.Pub, gateCase, "message", "that is no cedar", next()),
		state(worker, gateCase, "accepted", "disputed", p(agent)),
		state(judge, gateCase, "disputed", "cancelled", p(agent), p(worker)),

		state(agent, gateOffer, "", "open", append(terms, p(worker))...),
		relaytest.Entry(agent, worker.Pub, gateOffer, "message", "who brings cedar?", next()),

		state(agent, gateHalf, "", "open", append(terms, p(worker))...),
		state(worker, gateHalf, "open", "accepted", terms[1], p(agent)),
		relaytest.Entry(agent, worker.Pub, gateHalf, "message", "cedar without a judge", next()),
		state(agent, gateHalf, "accepted", "disputed", p(worker)),
	}
}

// The contracts of gateTableCases.
const gateCase, gateOffer, gateHalf = "contract-7", "contract-8", "contract-9"

// gateTableDeletions returns events that their authors delete by id, and the
// requests: for open and gated events, for both, for unknown events, another
// author's events, events deleted before, and for a request itself.
func gateTableDeletions(next func() int64) []*nostr.Event {
	agent, owner, stranger := rig.GateAgent, rig.GateOwner, rig.GateStranger
	sign := func(k relaytest.Key, kind int, tags ...nostr.Tag) *nostr.Event {
		return relaytest.Sign(k, kind, next(), "cedar", tags...)
	}
	e := func(ev *nostr.Event) nostr.Tag { return nostr.Tag{"e", ev.ID} }
	note, other := sign(agent, 1), sign(agent, 1)
	shelf := sign(owner, 4550, nostr.Tag{"p", agent.Pub})
	memory := relaytest.Memory(agent, owner.Pub, "mem/gone", "cedar", next())
	approvals := sign(agent, 30078, nostr.Tag{"d", "engramd/agents"}, nostr.Tag{"p", owner.Pub})
	first := sign(agent, 5, e(note))
	second := next() // in which there are two entries
	said, again := relaytest.Entry(agent, rig.GateWorker.Pub, "contract-4", "message", "cedar, taken back", second), relaytest.Entry(agent, rig.GateWorker.Pub, "contract-4", "message", "cedar once more", second)
	sealed := relaytest.SealedEntry(agent, rig.GateWorker.Pub, "contract-4", "note", "cedar", next())
	return []*nostr.Event{
		note, other, shelf, memory, approvals, first,
		sign(agent, 5, e(note), e(first)),
		sign(agent, 5, e(memory)),
		sign(agent, 5, e(memory), e(note)),
		sign(agent, 5, e(other), nostr.Tag{"k", "30174"}),
		sign(agent, 5, e(approvals)),
		sign(owner, 5, e(shelf)),
		sign(stranger, 5, e(memory)),
		sign(stranger, 5, e(note)),
		said, again, sealed, sign(agent, 5, e(said)), sign(agent, 5, e(sealed)),
		sign(agent, 5, nostr.Tag{"e", gateUnknown}),
		sign(agent, 5, nostr.Tag{"e", "none"}, nostr.Tag{"p", stranger.Pub}),
		sign(agent, 5, nostr.Tag{"k", "1"}),
	}
}

// gateUnknown is an id that no event has.
const gateUnknown = "00000000000000000000000000000000000000000000000000000000deadbeef"

// gateKinds are the kinds that a filter of the table names.
type gateKinds struct {
	name  string
	kinds []int
}

// gateTableKinds returns the kinds that the options affect, and all others too
// where rules gate some of them.
func gateTableKinds(all bool) []gateKinds {
	some := []gateKinds{
		{"anything", nil}, {"engrams", []int{30174}}, {"entries", []int{30090}}, {"states", []int{30091}},
		{"wraps", []int{1059}}, {"passing wraps", []int{21059}}, {"notes and engrams", []int{1, 30174}}, {"engrams and entries", []int{30174, 30090}},
		{"deletions", []int{5}},
	}
	if !all {
		return some
	}
	return append(some, []gateKinds{
		{"no kind", []int{}}, {"contract memory", []int{30090, 30091}}, {"turn metrics", []int{44200}},
		{"messages", []int{4}}, {"app data", []int{30078}}, {"approvals", []int{4550}}, {"shelves", []int{30500}},
		{"agents' doings", []int{24200}}, {"reminders", []int{30300}}, {"settings", []int{30179}},
		{"notes", []int{1}}, {"engrams and wraps", []int{30174, 1059}}, {"articles and entries", []int{30023, 30090}},
	}...)
}

// gateTableAsks crosses the kinds a filter may name with everything it may ask
// of them.
func gateTableAsks(r gateReader, events []*nostr.Event, all bool) []gateAsk {
	versions, events := events[:len(gateTableVersions())], events[len(gateTableVersions()):]
	asks := []gateAsk{{name: "by ids of old versions", filters: []nostr.Filter{{IDs: gateIDs(versions)}}}}
	for i, k := range gateTableKinds(all) {
		for j, c := range gateConstraints(r, events) {
			f := c.filter
			f.Kinds = k.kinds
			asks = append(asks, gateAsk{name: k.name + " " + c.name, kind: i, constraint: j, filters: []nostr.Filter{f}})
		}
	}
	return asks
}

// gateTablePast asks for all authors' versions of every kind, of single
// addresses, with a limit, and of what does not exist.
func gateTablePast() []gateAsk {
	var asks []gateAsk
	ask := func(name string, past gatePast) {
		asks = append(asks, gateAsk{name: "versions of " + name, past: &past})
	}
	text := func(s string) *string { return &s }
	until := nostr.Timestamp(1_690_000_001)
	for _, k := range []relaytest.Key{rig.GateAgent, rig.GateOwner, rig.GateSecond, rig.GateWorker, rig.GateStranger} {
		for _, kind := range []int{30174, 30090, 30091, 30078, 30179, 30300, 30500, 30023, 1059, 5, 1} {
			ask(fmt.Sprintf("kind %d", kind), gatePast{kind: kind, author: k.Pub})
		}
		ask("the contract", gatePast{kind: 30090, author: k.Pub, d: text("contract-1")})
		for _, contract := range []string{gateCase, gateOffer, gateHalf} {
			ask("entries of "+contract, gatePast{kind: 30090, author: k.Pub, d: text(contract)})
			ask("states of "+contract, gatePast{kind: 30091, author: k.Pub, d: text(contract)})
		}
		ask("engrams, one", gatePast{kind: 30174, author: k.Pub, limit: 1})
		ask("engrams, the oldest", gatePast{kind: 30174, author: k.Pub, until: &until})
		ask("no address", gatePast{kind: 30174, author: k.Pub, d: text("")})
	}
	ask("everybody", gatePast{everybody: true})
	ask("everybody, three", gatePast{everybody: true, limit: 3})
	ask("everybody's contracts", gatePast{everybody: true, kinds: []int{30090, 30091}})
	ask("everybody's contracts, one", gatePast{everybody: true, kinds: []int{30090, 30091}, limit: 1})
	ask("everybody since the beginning", gatePast{everybody: true, since: true})
	ask("everybody with arrivals", gatePast{everybody: true, arrival: true})
	ask("everybody's notes", gatePast{everybody: true, kinds: []int{1}})
	ask("an engram", gatePast{kind: 30174, author: rig.GateAgent.Pub, d: text(relaytest.Address(rig.GateAgent, rig.GateOwner.Pub, "mem/one"))})
	ask("the core", gatePast{kind: 30174, author: rig.GateAgent.Pub, d: text(relaytest.Address(rig.GateAgent, rig.GateOwner.Pub, "core")), limit: 1})
	ask("the approvals", gatePast{kind: 30078, author: rig.GateOwner.Pub, d: text("engramd/agents")})
	ask("the shelf", gatePast{kind: 30500, author: rig.GateOwner.Pub, d: text("contract-1")})
	return asks
}

// gateConstraint is what a filter requires besides kinds.
type gateConstraint struct {
	name   string
	filter nostr.Filter
}

// gateConstraints returns all of them; "mine" are the reader's keys, or the
// agent's for a reader without one.
func gateConstraints(r gateReader, events []*nostr.Event) []gateConstraint {
	agent, owner, stranger := rig.GateAgent.Pub, rig.GateOwner.Pub, rig.GateStranger.Pub
	mine := r.pubs()
	if len(mine) == 0 {
		mine = []string{agent}
	}
	ids := gateIDs(events)
	engramD := events[1].Tags.GetD()
	since, until := nostr.Timestamp(1_700_000_003), nostr.Timestamp(1_700_000_020)
	list := func(values ...string) []string { return append([]string{}, values...) }
	var deleted []string
	for _, ev := range events {
		for tag := range ev.Tags.FindAll("e") {
			deleted = append(deleted, tag[1])
		}
	}
	tag := func(name string, values ...string) nostr.TagMap { return nostr.TagMap{name: list(values...)} }
	return []gateConstraint{
		{"of all", nostr.Filter{}},
		{"by id of an engram", nostr.Filter{IDs: list(ids[1])}},
		{"by every id", nostr.Filter{IDs: ids}},
		{"by an unknown id", nostr.Filter{IDs: list(gateUnknown)}},
		{"by no id", nostr.Filter{IDs: list()}},
		{"by id, of a stranger", nostr.Filter{IDs: ids, Authors: list(stranger)}},
		{"by id, mine", nostr.Filter{IDs: ids, Authors: mine}},
		{"by id, of nobody", nostr.Filter{IDs: ids, Authors: list()}},
		{"of mine", nostr.Filter{Authors: mine}},
		{"of the agent", nostr.Filter{Authors: list(agent)}},
		{"of agent and owner", nostr.Filter{Authors: list(agent, owner)}},
		{"of me and a stranger", nostr.Filter{Authors: append(list(stranger), mine...)}},
		{"of nobody", nostr.Filter{Authors: list()}},
		{"to me", nostr.Filter{Tags: tag("p", mine...)}},
		{"to the owner", nostr.Filter{Tags: tag("p", owner)}},
		{"to owner and stranger", nostr.Filter{Tags: tag("p", owner, stranger)}},
		{"to nobody", nostr.Filter{Tags: tag("p")}},
		{"of the agent, to the owner", nostr.Filter{Authors: list(agent), Tags: tag("p", owner)}},
		{"of others, to me", nostr.Filter{Authors: list(agent, stranger, rig.GateWorker.Pub), Tags: tag("p", mine...)}},
		{"of mine, to nobody", nostr.Filter{Authors: mine, Tags: tag("p")}},
		{"of the contract", nostr.Filter{Tags: tag("d", "contract-1")}},
		{"of some contracts", nostr.Filter{Tags: tag("d", "contract-2", "contract-4", "contract-3")}},
		{"of the contract, by the worker", nostr.Filter{Authors: list(rig.GateWorker.Pub), Tags: tag("d", "contract-1")}},
		{"of the contract, notes", nostr.Filter{Tags: nostr.TagMap{"d": {"contract-1"}, "t": {"note", "message"}}}},
		{"of the case", nostr.Filter{Tags: tag("d", gateCase)}},
		{"of the case, by the agent, one", nostr.Filter{Authors: list(agent), Tags: tag("d", gateCase), Limit: 1}},
		{"of the case, by id", nostr.Filter{IDs: ids, Tags: tag("d", gateCase)}},
		{"of the case, live only", nostr.Filter{Tags: tag("d", gateCase), LimitZero: true}},
		{"of the case and another", nostr.Filter{Tags: tag("d", gateCase, gateHalf)}},
		{"of an offer", nostr.Filter{Tags: tag("d", gateOffer)}},
		{"of one that names him by half", nostr.Filter{Tags: tag("d", gateHalf)}},
		{"of no contract", nostr.Filter{Tags: tag("d")}},
		{"by d and id", nostr.Filter{IDs: ids[:9], Tags: tag("d", "contract-1", engramD)}},
		{"by an engram's d", nostr.Filter{Tags: tag("d", engramD)}},
		{"by what was deleted", nostr.Filter{Tags: tag("e", deleted...)}},
		{"by another tag", nostr.Filter{Tags: tag("t", "note")}},
		{"in a time", nostr.Filter{Since: &since, Until: &until}},
		{"of mine, in a time", nostr.Filter{Authors: mine, Since: &since, Until: &until}},
		{"of mine, two", nostr.Filter{Authors: mine, Limit: 2}},
		{"by id, three", nostr.Filter{IDs: ids, Limit: 3}},
		{"of the contract, one", nostr.Filter{Tags: tag("d", "contract-1"), Limit: 1}},
		{"of all, two", nostr.Filter{Limit: 2}},
		{"of all, live only", nostr.Filter{LimitZero: true}},
		{"of mine, live only", nostr.Filter{Authors: mine, LimitZero: true}},
		{"of the contract, live only", nostr.Filter{Tags: tag("d", "contract-1"), LimitZero: true}},
	}
}
