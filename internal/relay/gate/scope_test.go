package gate_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
)

// TestSecondCheck judges one event of each class, written by the agent for the
// owner, for each reader, in a filter that was granted.
func TestSecondCheck(t *testing.T) {
	deletion := event(5, "", nostr.Tag{"k", "30174"})
	approvals := event(30078, "", nostr.Tag{"d", gate.ApprovalD})
	anything := nostr.Filter{}
	byID := with(anything, "ids", someID)
	for _, c := range []struct {
		name    string
		options oracle.Options
		event   *nostr.Event
		filter  nostr.Filter
		// who sees it
		nobody, stranger, second, agent, owner bool
	}{
		{"note", exclude, event(1, ""), anything, true, true, true, true, true},
		{"engram", exclude, engram(), anything, false, false, false, true, true},
		{"engram by id", none, engram(), byID, true, true, true, true, true},
		{"engram by id and kind", none, engram(), with(kinds(30174), "ids", someID), true, true, true, true, true},
		{"engram by id for parties", idsParty, engram(), byID, false, false, false, true, true},
		{"engram by d", exclude, engram(), with(anything, "d", otherID), false, false, false, true, true},
		{"engram by d and id of others", exclude, engram(), with(with(anything, "d", otherID), "ids", otherID), false, false, false, true, true},

		{"entry", exclude, entry(), anything, false, false, false, true, true},
		{"entry of the contract", none, entry(), with(kinds(30090), "d", contractID), true, true, true, true, true},
		{"entry of one of several", none, entry(), with(kinds(30090), "d", "other", contractID), true, true, true, true, true},
		{"entry of another contract", none, entry(), with(kinds(30090), "d", "other"), false, false, false, true, true},
		{"entry by id", none, entry(), byID, true, true, true, true, true},
		{"entry by id for parties", oracle.Options{IDs: "party", Contracts: "parties"}, entry(), byID, true, true, true, true, true},
		{"entry of the contract, kinds not named", exclude, entry(), with(anything, "d", contractID), false, false, false, true, true},
		{"public entry", oracle.Options{Wildcard: "exclude", Contracts: "public"}, entry(), anything, true, true, true, true, true},
		{"state of the contract", none, state(), with(kinds(30091), "d", contractID), true, true, true, true, true},
		{"public state", public, state(), kinds(30091), true, true, true, true, true},

		{"sealed entry of the contract", none, sealed(), with(kinds(30090), "d", contractID), false, false, false, true, true},
		{"sealed entry by id", none, sealed(), with(kinds(30090), "ids", someID), true, true, true, true, true},
		{"sealed entry by id for parties", idsParty, sealed(), with(kinds(30090), "ids", someID), false, false, false, true, true},
		{"sealed entry, public contracts", public, sealed(), with(kinds(30090), "d", contractID), false, false, false, true, true},

		{"wrap", exclude, event(1059, ""), anything, false, false, false, false, true},
		{"wrap by id", none, event(1059, ""), byID, false, false, false, false, true},
		{"turn metrics by id", none, event(44200, ""), byID, false, false, false, false, true},
		{"message", exclude, event(4, ""), anything, false, false, false, true, true},
		{"message by id", none, event(4, ""), byID, false, false, false, true, true},
		{"what an agent does", exclude, event(24200, ""), anything, false, false, false, true, true},
		{"reminder", exclude, event(30300, "", nostr.Tag{"d", "x"}), anything, false, false, false, true, false},
		{"reminder by id and d", none, event(30300, "", nostr.Tag{"d", "x"}), with(byID, "d", "x"), false, false, false, true, false},
		{"an agent's settings", exclude, event(30179, "", nostr.Tag{"d", "x"}), anything, false, false, false, true, false},
		{"deletion of an engram", none, deletion, kinds(5), false, false, false, true, false},
		{"deletion of an engram by id", none, deletion, byID, false, false, false, true, false},
		{"approvals", none, approvals, with(kinds(30078), "d", gate.ApprovalD), false, false, false, true, false},
		{"approvals by id", none, approvals, byID, false, false, false, true, false},
		{"approvals under a weaker rule", oracle.Options{Rules: []string{"30078 p ids,d"}}, approvals,
			with(with(kinds(30078), "d", gate.ApprovalD), "ids", someID), false, false, false, true, false},
		{"ruled: p, by d", ruled, event(30500, "", nostr.Tag{"d", "x"}), with(kinds(30500), "d", "x"), true, true, true, true, true},
		{"ruled: p", oracle.Options{Wildcard: "exclude", Rules: ruled.Rules}, event(30500, "", nostr.Tag{"d", "x"}), anything, false, false, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := mustTable(t, c.options)
			for _, who := range []struct {
				name string
				keys []string
				want bool
			}{
				{"nobody", nil, c.nobody}, {"stranger", []string{stranger}, c.stranger},
				{"second agent", []string{second}, c.second}, {"agent", []string{agent}, c.agent},
				{"owner", []string{owner}, c.owner}, {"stranger and owner", []string{stranger, owner}, c.owner || c.stranger},
			} {
				scope, err := table.ScopeFor(gate.NewReader(who.keys...), c.filter)
				if err != nil {
					t.Fatalf("%s: %v", who.name, err)
				}
				if got := scope.CanRead(table.Subject(c.event)); got != who.want {
					t.Errorf("%s: %v, want %v", who.name, got, who.want)
				}
				if got := oracle.May(c.options, who.keys, c.filter, c.event); got != who.want {
					t.Errorf("%s: the oracle says %v, want %v", who.name, got, who.want)
				}
			}
		})
	}
}

func TestZeroScopeSeesOpenOnly(t *testing.T) {
	var zero gate.Scope
	if !zero.CanRead(gate.Subject{Class: gate.Open}) {
		t.Error("the zero scope does not see open events")
	}
	for class := 1; class < 256; class++ {
		e := gate.Subject{Class: gate.Class(class), ID: someID, Author: agent, P: []string{owner}}
		if zero.CanRead(e) {
			t.Errorf("the zero scope sees class %d", class)
		}
	}
	if zero.All() || zero.Clauses() != nil {
		t.Error("the zero scope has clauses")
	}
	if under := zero.Under(mustTable(t, none)); under.CanRead(gate.Subject{Class: gate.Engram, Author: agent}) || len(under.Clauses()) != 0 {
		t.Error("the zero scope under a table sees an engram")
	}
}

// TestUnknownClass: only the operator reads an event whose class number has no
// meaning here, from a newer version or a damaged row.
func TestUnknownClass(t *testing.T) {
	table := mustTable(t, public)
	scope, err := table.ScopeFor(gate.NewReader(agent, owner), with(nostr.Filter{}, "ids", someID))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []gate.Class{10, 15, 16, 32, 200} {
		e := gate.Subject{Class: class, ID: someID, Author: agent, P: []string{owner}}
		if scope.CanRead(e) {
			t.Errorf("class %d is read", class)
		}
		if !gate.Operator().CanRead(e) {
			t.Errorf("class %d is kept from the operator", class)
		}
	}
}

func TestOperator(t *testing.T) {
	op := gate.Operator()
	table := mustTable(t, none)
	for _, ev := range []*nostr.Event{engram(), sealed(), event(1059, ""), event(1, "")} {
		if !op.CanRead(table.Subject(ev)) || !op.Under(table).CanRead(table.Subject(ev)) {
			t.Errorf("the operator does not see kind %d", ev.Kind)
		}
	}
	if !op.All() || !op.Under(table).All() {
		t.Error("the operator's scope does not say that it is all")
	}
}

func TestParty(t *testing.T) {
	table := mustTable(t, none)
	for _, c := range []struct {
		reader gate.Reader
		want   bool
	}{{gate.Reader{}, false}, {gate.NewReader(stranger), false}, {gate.NewReader(agent), true}, {gate.NewReader(owner), true}} {
		scope := gate.Party(table, c.reader)
		for _, ev := range []*nostr.Event{engram(), entry(), sealed(), state()} {
			if got := scope.CanRead(table.Subject(ev)); got != c.want {
				t.Errorf("%v, kind %d: %v, want %v", c.reader.Keys(), ev.Kind, got, c.want)
			}
		}
	}
	for _, clause := range gate.Party(table, gate.NewReader(agent)).Clauses() {
		if len(clause.IDs) > 0 || len(clause.Ds) > 0 {
			t.Errorf("a party's scope takes ids or contracts for a key: %+v", clause)
		}
	}
}

// TestPartiesOnly: a scope for parties hides what contracts = public shows to
// all.
func TestPartiesOnly(t *testing.T) {
	table := mustTable(t, oracle.Options{Contracts: "public", Rules: []string{"4550 author"}})
	strict := table.PartiesOnly()
	approval := &nostr.Event{Kind: 4550, PubKey: agent, Tags: nostr.Tags{{"p", owner}}}
	for _, ev := range []*nostr.Event{engram(), entry(), sealed(), state(), approval} {
		for _, reader := range []string{"", stranger, agent, owner} {
			want := reader == agent || reader == owner && ev != approval
			if got := gate.Party(strict, gate.NewReader(reader)).CanRead(strict.Subject(ev)); got != want {
				t.Errorf("kind %d, reader %.4s: %v, want %v", ev.Kind, reader, got, want)
			}
		}
	}
	if !gate.Party(table, gate.Reader{}).CanRead(table.Subject(entry())) {
		t.Error("the table itself has changed")
	}
	note := &nostr.Event{Kind: 1, PubKey: stranger}
	if !gate.Party(strict, gate.Reader{}).CanRead(strict.Subject(note)) {
		t.Error("an open event is withheld")
	}
}

func TestRuleOf(t *testing.T) {
	table := mustTable(t, oracle.Options{Rules: []string{"4550 author"}})
	for kind, want := range map[int]string{30174: "engram", 30090: "contract", 30091: "contract", 4: "direct", 1: "open", 30078: "open", 4550: "configured"} {
		if got := table.RuleOf(kind).String(); got != want {
			t.Errorf("kind %d: %s, want %s", kind, got, want)
		}
	}
}

// TestUnder: live delivery judges an old subscription by the current rules.
func TestUnder(t *testing.T) {
	entries := with(kinds(30090), "d", contractID)
	scope, err := mustTable(t, none).ScopeFor(gate.NewReader(stranger), entries)
	if err != nil {
		t.Fatal(err)
	}
	closed := mustTable(t, parties)
	subject := closed.Subject(entry())
	if !scope.CanRead(subject) {
		t.Fatal("who names the contract does not see its entry")
	}
	if scope.Under(closed).CanRead(subject) {
		t.Error("the entry is seen after gate.contracts = parties")
	}
	if !scope.CanRead(subject) || !scope.Under(closed).Under(mustTable(t, none)).CanRead(subject) {
		t.Error("Under changed the scope itself")
	}

	notes, err := mustTable(t, none).ScopeFor(gate.NewReader(agent), kinds(4550))
	if err != nil {
		t.Fatal(err)
	}
	now := mustTable(t, ruled)
	mine, theirs := event(4550, ""), event(4550, "")
	theirs.PubKey, theirs.Tags = stranger, nil
	if !notes.Under(now).CanRead(now.Subject(mine)) || notes.Under(now).CanRead(now.Subject(theirs)) {
		t.Error("a kind that is gated now must go to its parties only")
	}
	if notes.Under(nil).CanRead(now.Subject(mine)) {
		t.Error("a scope without a table sees what is gated")
	}
}

// TestScopeIsItsOwn: changing a filter after the decision does not change the
// scope.
func TestScopeIsItsOwn(t *testing.T) {
	ids, ds := []string{otherID}, []string{"other"}
	f := nostr.Filter{Kinds: []int{30090}, IDs: ids, Tags: nostr.TagMap{"d": ds}}
	table := mustTable(t, none)
	scope, err := table.ScopeFor(gate.NewReader(stranger), f)
	if err != nil {
		t.Fatal(err)
	}
	ids[0], ds[0] = someID, contractID
	if scope.CanRead(table.Subject(entry())) {
		t.Error("the grant follows the caller's lists")
	}
}

func TestSubject(t *testing.T) {
	table := mustTable(t, none)
	ev := event(30174, "", nostr.Tag{"d", otherID}, nostr.Tag{"d", "second"}, nostr.Tag{"p"}, nostr.Tag{"p", second, "wss://x"})
	got := table.Subject(ev)
	if got.Class != gate.Engram || got.ID != someID || got.Author != agent || got.D != otherID ||
		len(got.P) != 2 || got.P[0] != owner || got.P[1] != second {
		t.Errorf("subject %+v", got)
	}
}
