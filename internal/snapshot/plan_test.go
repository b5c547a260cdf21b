package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

func keysOf(tb testing.TB, secret string) bundle.Keys {
	tb.Helper()
	k, err := bundle.KeysOf(secret, publicKey(secret))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func mustHeads(tb testing.TB, src bundle.Source, keys bundle.Keys) Heads {
	tb.Helper()
	h, err := ReadHeads(context.Background(), src, agentKey, keys)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// instants are a memory then and now.
func instants(tb testing.TB) (then, now memory) {
	same := engram(tb, "mem/same", "same", 10)
	then = memory{
		engram(tb, nipae.Core, "I am Sami.\n", 10), same,
		engram(tb, "mem/changed", "one\ntwo\nthree\n", 10),
		engram(tb, "mem/lost", "was there", 10),
		engram(tb, "mem/buried", "was there too", 10),
		engram(tb, "mem/older", "new", 20),
		engram(tb, "mem/dead", "", 10),
		engram(tb, "mem/rewritten", "equal", 10),
	}
	now = memory{
		engram(tb, nipae.Core, "I am Sam.\n", 30), same,
		engram(tb, "mem/changed", "one\n2\nthree\n", 30),
		engram(tb, "mem/buried", "", 30),
		engram(tb, "mem/older", "old", 5),
		engram(tb, "mem/dead", "risen", 30),
		engram(tb, "mem/new", "new", 30),
		engram(tb, "mem/newdead", "", 30),
		engram(tb, "mem/rewritten", "equal", 30),
	}
	return then, now
}

func TestDiff(t *testing.T) {
	a, b := instants(t)
	keys := keysOf(t, ownerSecret)
	changes := Diff(mustHeads(t, a, keys), mustHeads(t, b, keys))
	if err := AddLines(t.Context(), changes, a, b, agentKey, keys); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s", c.Sort, c.Slug))
	}
	want := []string{"changed core", "tombstoned mem/buried", "changed mem/changed", "added mem/dead", "removed mem/lost",
		"added mem/new", "tombstoned mem/newdead", "changed mem/older", "changed mem/rewritten"}
	if !slices.Equal(got, want) {
		t.Errorf("changes:\n%q, want\n%q", got, want)
	}
	if lines := changes[2].Lines; lines != "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" {
		t.Errorf("lines: %q", lines)
	}
	var text strings.Builder
	if err := WriteChanges(&text, changes); err != nil || !strings.Contains(text.String(), "tombstoned  mem/buried\n@@ -1,1 +0,0 @@\n-was there too\n") {
		t.Errorf("%v, text:\n%s", err, text.String())
	}

	got = nil
	for _, c := range Diff(mustHeads(t, a, nil), mustHeads(t, b, nil)) {
		if c.Slug != "" || len(c.D) != 64 {
			t.Errorf("without a key: %+v", c)
		}
		got = append(got, string(c.Sort))
	}
	slices.Sort(got)
	if want := []string{"added", "added", "changed", "changed", "changed", "changed", "changed", "changed", "removed"}; !slices.Equal(got, want) {
		t.Errorf("without a key: %q, want %q", got, want)
	}
	if same := Diff(mustHeads(t, a, nil), mustHeads(t, a, nil)); len(same) != 0 {
		t.Errorf("with itself: %v", same)
	}
}

func TestPlan(t *testing.T) {
	then, now := instants(t)
	keys := keysOf(t, agentSecret)
	from, is := mustHeads(t, then, keys), mustHeads(t, now, keys)
	for mode, want := range map[Mode][]string{
		Repair: {"keep core", "keep mem/buried", "keep mem/changed", "keep mem/dead", "add mem/lost", "replace mem/older", "keep mem/rewritten"},
		Rollback: {"replace core", "replace mem/buried", "replace mem/changed", "replace mem/dead", "add mem/lost",
			"quarantine mem/new", "quarantine mem/newdead", "replace mem/older", "replace mem/rewritten"},
		Revert: {"write mem/buried", "write mem/changed", "tombstone mem/dead", "write mem/lost", "tombstone mem/new", "write mem/older", "write core"},
	} {
		t.Run(string(mode), func(t *testing.T) {
			actions, err := Plan(mode, from, is)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range actions {
				got = append(got, fmt.Sprintf("%s %s", a.Op, a.Slug))
			}
			if !slices.Equal(got, want) {
				t.Errorf("actions:\n%q, want\n%q", got, want)
			}
			again, err := Plan(mode, from, apply(is, actions, mode))
			if err != nil || slices.ContainsFunc(again, func(a Action) bool { return a.Op != Keep }) {
				t.Errorf("after it was done there is left: %v, %v", again, err)
			}
		})
	}
}

// apply does what the actions say to heads.
func apply(now Heads, actions []Action, mode Mode) Heads {
	out := Heads{}
	for addr, h := range now {
		out[addr] = h
	}
	for _, a := range actions {
		switch a.Op {
		case Add, Replace:
			out[a.address()] = *a.Bundle
		case Quarantine:
			delete(out, a.address())
		case Write, Tombstone:
			h := Head{Kind: a.Kind, PubKey: agentKey, D: a.D, Slug: a.Slug, ID: "new", CreatedAt: 99, Tombstone: a.Op == Tombstone}
			if a.Op == Write {
				h.body = a.Bundle.body
			}
			out[a.address()] = h
		}
	}
	return out
}

func TestRevertNeedsTheKey(t *testing.T) {
	then, now := instants(t)
	if _, err := Plan(Revert, mustHeads(t, then, nil), mustHeads(t, now, nil)); !errors.Is(err, ErrUnreadable) {
		t.Errorf("without a key: %v", err)
	}
	onlyCore := memory{engram(t, nipae.Core, "I am Sami.", 10)}
	actions, err := Plan(Revert, Heads{}, mustHeads(t, onlyCore, keysOf(t, agentSecret)))
	if err != nil || len(actions) != 1 || actions[0].Op != Keep || actions[0].Reason != "core cannot be tombstoned" {
		t.Errorf("a core that was not there: %+v, %v", actions, err)
	}
}

func TestPlanText(t *testing.T) {
	then, now := instants(t)
	keys := keysOf(t, agentSecret)
	actions, err := Plan(Revert, mustHeads(t, then, keys), mustHeads(t, now, keys))
	if err != nil {
		t.Fatal(err)
	}
	changes := Changes(actions)
	if err := AddLines(t.Context(), changes, now, then, agentKey, keys); err != nil {
		t.Fatal(err)
	}
	AddPlanLines(actions, changes)
	var text strings.Builder
	if err := WritePlan(&text, Revert, actions); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"write       mem/changed\n@@ -1,3 +1,3 @@\n one\n-2\n+two\n three\n", "tombstone   mem/new\n@@ -1,1 +0,0 @@\n-new\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	text.Reset()
	if err := WritePlan(&text, Repair, nil); err != nil || text.String() != "repair: nothing to do\n" {
		t.Errorf("%q, %v", text.String(), err)
	}
}

func TestUnified(t *testing.T) {
	var a, b, long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i)
		fmt.Fprintf(&long, "%d\n", i)
	}
	for _, tt := range []struct{ name, a, b, want string }{
		{"equal", "x\n", "x\n", ""},
		{"from nothing", "", "x\n", "@@ -0,0 +1,1 @@\n+x\n"},
		{"to nothing", "x\n", "", "@@ -1,1 +0,0 @@\n-x\n"},
		{"no line feed", "x", "y", "@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"},
		{"context", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"two hunks", "x\n" + long.String() + "x\n", "y\n" + long.String() + "y\n",
			"@@ -1,4 +1,4 @@\n-x\n+y\n 0\n 1\n 2\n@@ -2999,4 +2999,4 @@\n 2997\n 2998\n 2999\n-x\n+y\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Unified(tt.a, tt.b); got != tt.want {
				t.Errorf("%.300q, want %q", got, tt.want)
			}
		})
	}
	if got := Unified(a.String(), b.String()); !strings.HasPrefix(got, "@@ -1,3000 +1,3000 @@\n-a0\n") {
		t.Errorf("all lines are others: %.60q", got)
	}
	if got := Printable("a\x1b[2J\tb\n\u009b"); got != "a\uFFFD[2J\tb\n\uFFFD" {
		t.Errorf("printable: %q", got)
	}
}
