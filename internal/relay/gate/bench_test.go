package gate_test

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
)

// TestCanReadDoesNotAllocate: CanRead runs for every recipient of every event.
func TestCanReadDoesNotAllocate(t *testing.T) {
	for name, c := range secondChecks(t) {
		if n := testing.AllocsPerRun(100, func() { c.scope.Under(c.table).CanRead(c.subject) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	table := mustTable(t, none)
	note := event(1, "hello")
	if n := testing.AllocsPerRun(100, func() { table.Subject(note) }); n != 0 {
		t.Errorf("subject of an open event: %v allocations", n)
	}
	open := kinds(1, 7)
	me := gate.NewReader(agent)
	if n := testing.AllocsPerRun(100, func() { _, _ = table.ScopeFor(me, open) }); n != 0 {
		t.Errorf("scope of a filter for open kinds: %v allocations", n)
	}
}

type secondCheck struct {
	table   *gate.Table
	scope   gate.Scope
	subject gate.Subject
}

func secondChecks(tb testing.TB) map[string]secondCheck {
	tb.Helper()
	table := mustTable(tb, exclude)
	many := []string{someID}
	for n := range 1999 {
		many = append(many, fmt.Sprintf("%064x", n))
	}
	out := map[string]secondCheck{}
	add := func(name string, r gate.Reader, f nostr.Filter, ev *nostr.Event) {
		scope, err := table.ScopeFor(r, f)
		if err != nil {
			tb.Fatal(err)
		}
		out[name] = secondCheck{table, scope, table.Subject(ev)}
	}
	add("open", gate.NewReader(agent), nostr.Filter{}, event(1, ""))
	add("author", gate.NewReader(agent), nostr.Filter{}, engram())
	add("p", gate.NewReader(owner), nostr.Filter{}, engram())
	add("stranger", gate.NewReader(stranger), nostr.Filter{}, engram())
	add("ids", gate.NewReader(stranger), with(nostr.Filter{}, "ids", many...), engram())
	return out
}

func BenchmarkCanRead(b *testing.B) {
	for name, c := range secondChecks(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.scope.CanRead(c.subject)
			}
		})
	}
}

func BenchmarkScopeFor(b *testing.B) {
	table := mustTable(b, none)
	me := gate.NewReader(agent)
	for _, c := range []struct {
		name   string
		filter nostr.Filter
	}{
		{"open", kinds(1, 7)},
		{"engrams", with(kinds(30174), "authors", agent)},
		{"contract", with(kinds(30090), "d", contractID)},
		{"ids", with(nostr.Filter{}, "ids", someID, otherID)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				scope, err := table.ScopeFor(me, c.filter)
				if err != nil {
					b.Fatal(err)
				}
				scope.Clauses()
			}
		})
	}
}

func BenchmarkClassify(b *testing.B) {
	table := mustTable(b, none)
	for name, ev := range map[string]*nostr.Event{
		"note": event(1, ""), "engram": engram(), "entry": entry(), "sealed": sealed(),
		"deletion": event(5, "", nostr.Tag{"e", someID}, nostr.Tag{"k", "1"}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Classify(ev)
			}
		})
	}
}
