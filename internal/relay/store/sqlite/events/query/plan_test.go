package query_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// shapes are the filters that clients send, and what each is expected to be
// answered from.
func shapes(agent, owner storetest.Key) []planCase {
	at := nostr.Timestamp(storetest.Start.Unix())
	hex := func(n int) string { return fmt.Sprintf("%064x", n) }
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, hex(i))
		}
		return out
	}
	tags := func(kv ...any) nostr.TagMap {
		m := nostr.TagMap{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1].([]string)
		}
		return m
	}
	return []planCase{
		{"one id", nostr.Filter{IDs: many(1)}, "id", true, "events_id (id=?)"},
		{"ids", nostr.Filter{IDs: many(300)}, "id", false, "events_id (id=?)"},
		{"ids of kinds", nostr.Filter{IDs: many(2), Kinds: []int{1}}, "id", false, "events_id (id=?)"},
		{"head", nostr.Filter{Kinds: []int{30174}, Authors: []string{agent.Pub}, Tags: tags("d", many(1), "p", []string{owner.Pub})},
			"address", true, "events_address (kind=? AND author=? AND d=? AND class=?"},
		{"heads", nostr.Filter{Kinds: []int{30174}, Authors: []string{agent.Pub}, Tags: tags("d", many(50))},
			"address", false, "events_address (kind=? AND author=? AND d=? AND class=?"},
		{"head of an article", nostr.Filter{Kinds: []int{30023}, Authors: []string{agent.Pub}, Tags: tags("d", []string{"x"})},
			"address", true, "events_address (kind=? AND author=? AND d=? AND class=?"},
		{"list of an agent", nostr.Filter{Kinds: []int{30174}, Authors: []string{agent.Pub}, Tags: tags("p", []string{owner.Pub})},
			"author", true, "events_author (author=? AND class=? AND reader=? AND kind=? AND created_at>? AND created_at<?)"},
		{"all agents of an owner", nostr.Filter{Kinds: []int{30174}, Tags: tags("p", []string{owner.Pub})},
			"tag", true, "t USING PRIMARY KEY (name=? AND value=? AND class=? AND created_at>? AND created_at<?)"},
		{"contract", nostr.Filter{Kinds: []int{30090, 30091}, Tags: tags("d", []string{"c1"})},
			"tag", true, "t USING PRIMARY KEY (name=? AND value=?"},
		{"contract, one author", nostr.Filter{Kinds: []int{30090}, Authors: []string{agent.Pub}, Tags: tags("d", []string{"c1"}, "t", []string{"note"})},
			"address", true, "events_address (kind=? AND author=? AND d=? AND class=?"},
		{"gift wraps", nostr.Filter{Kinds: []int{1059}, Tags: tags("p", []string{agent.Pub}), Since: &at},
			"tag", true, "t USING PRIMARY KEY (name=? AND value=?"},
		{"own, any kind", nostr.Filter{Authors: []string{agent.Pub}}, "author", true, "events_author (author=? AND class=? AND reader=? AND kind=? AND created_at>?"},
		{"profile", nostr.Filter{Authors: []string{agent.Pub}, Kinds: []int{0}}, "author", true, "events_author (author=? AND class=? AND reader=? AND kind=?"},
		{"feed", nostr.Filter{Authors: many(12), Kinds: []int{1}, Until: &at}, "author", true, "events_author (author=? AND class=? AND reader=? AND kind=?"},
		{"large feed", nostr.Filter{Authors: many(500), Kinds: []int{1, 6}}, "author", false, "events_author (author=? AND class=? AND reader=? AND kind=?"},
		{"replies", nostr.Filter{Kinds: []int{1}, Tags: tags("e", many(3))}, "tag", true, "t USING PRIMARY KEY (name=? AND value=?"},
		{"reactions to many", nostr.Filter{Kinds: []int{7}, Tags: tags("e", many(100))}, "tag", false, "t USING PRIMARY KEY (name=? AND value=?"},
		{"replies by one", nostr.Filter{Authors: []string{agent.Pub}, Tags: tags("e", many(1))}, "tag", true, "t USING PRIMARY KEY (name=? AND value=?"},
		{"topic", nostr.Filter{Tags: tags("t", []string{"nostr"})}, "tag", true, "t USING PRIMARY KEY (name=? AND value=?"},
		{"topic by one", nostr.Filter{Authors: []string{agent.Pub}, Kinds: []int{1}, Tags: tags("t", []string{"nostr"})}, "author", true, "events_author"},
		{"topic by many", nostr.Filter{Authors: many(100), Kinds: []int{1}, Tags: tags("t", []string{"nostr"})}, "tag", true, "t USING PRIMARY KEY"},
		{"two tags", nostr.Filter{Tags: tags("t", []string{"nostr"}, "e", many(1))}, "tag", true, "t USING PRIMARY KEY"},
		{"kind", nostr.Filter{Kinds: []int{1}}, "kind", true, "events_kind (kind=? AND class=? AND created_at>? AND created_at<?)"},
		{"kinds", nostr.Filter{Kinds: []int{1, 6, 7, 5}, Since: &at}, "kind", true, "events_kind (kind=? AND class=? AND created_at>? AND created_at<?)"},
		{"time", nostr.Filter{Since: &at}, "time", true, "events_time (created_at>? AND created_at<?)"},
		{"everything", nostr.Filter{}, "time", true, "events_time (created_at>? AND created_at<?)"},
	}
}

type planCase struct {
	name   string
	filter nostr.Filter
	access string
	merged bool
	detail string // in SQLite's account of the statement
}

// scans are the lines in which SQLite says that it reads a whole table or
// index. Walking through the values of a list, a reader's own p tags cut up, or
// the result of a part of the statement is none.
func scans(detail string) (out []string) {
	for line := range strings.SplitSeq(detail, "\n") {
		what, ok := strings.CutPrefix(line, "SCAN ")
		if ok && !strings.HasPrefix(what, "(subquery-") && !strings.HasSuffix(what, " VALUES CLAUSE") && !strings.HasSuffix(what, " CONSTANT ROWS") &&
			!slices.Contains([]string{"list", "cut", "l", "la", "lc", "ld", "lk", "lr", "CONSTANT ROW", "json_each VIRTUAL TABLE INDEX 1:"}, what) {
			out = append(out, line)
		}
	}
	return out
}

// sorts are the lines in which SQLite says that it sorts a whole answer.
func sorts(detail string) (out []string) {
	for line := range strings.SplitSeq(detail, "\n") {
		if strings.Contains(line, "FOR ORDER BY") {
			out = append(out, line)
		}
	}
	return out
}

func TestPlans(t *testing.T) {
	agent, owner := storetest.NewKey("agent"), storetest.NewKey("owner")
	table := storetest.MustTable(t, gate.Options{Wildcard: gate.WildcardExclude})
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Table = table })
	for i := range 20 {
		s.Put(t.Context(), agent.Engram(owner, int64(i), fmt.Sprint(i)), store.PutOptions{})
		s.Put(t.Context(), agent.Note(int64(i), "x", nostr.Tag{"t", "nostr"}), store.PutOptions{})
		s.Put(t.Context(), agent.Fake(0, int64(i), "x"), store.PutOptions{})
		// Of long lists only what there is something of is looked for.
		one := storetest.Key{Pub: fmt.Sprintf("%064x", i)}
		s.Put(t.Context(), one.Fake(1, -int64(i), "x", nostr.Tag{"e", one.Pub}), store.PutOptions{})
	}
	readers := map[string]gate.Reader{
		"nobody": gate.NewReader(), "agent": gate.NewReader(agent.Pub), "both": gate.NewReader(agent.Pub, owner.Pub),
	}
	for _, c := range shapes(agent, owner) {
		for who, reader := range readers {
			scope, err := table.ScopeFor(reader, c.filter)
			if err != nil {
				continue // refused: nothing is looked for
			}
			t.Run(c.name+"/"+who, func(t *testing.T) {
				checkPlan(t, s, c, scope)
			})
		}
		t.Run(c.name+"/operator", func(t *testing.T) {
			if c.access == "time" {
				c.detail = "events_kind (kind=? AND class=? AND created_at>? AND created_at<?)"
			}
			checkPlan(t, s, c, gate.Operator())
		})
	}
}

func checkPlan(t *testing.T, s *sqlite.Store, c planCase, scope gate.Scope) {
	t.Helper()
	after := store.Position{CreatedAt: storetest.Start.Unix()}
	for _, ask := range []store.Ask{{Scope: scope, Filter: c.filter}, {Scope: scope, Filter: c.filter, After: &after}} {
		plan, err := s.ExplainQuery(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(plan.Detail, "\n---\n")
		if plan.Access != c.access || plan.Merged != c.merged {
			t.Errorf("access %s, merged %v; want %s, %v", plan.Access, plan.Merged, c.access, c.merged)
		}
		if !strings.Contains(all, c.detail) {
			t.Errorf("plan without %q:\n%s", c.detail, all)
		}
		for _, detail := range plan.Detail {
			if bad := append(scans(detail), sorts(detail)...); len(bad) > 0 {
				t.Errorf("scans or sorts %q:\n%s", bad, detail)
			}
		}
		detail, err := s.ExplainCount(t.Context(), []store.Ask{ask, ask})
		if err != nil {
			t.Fatal(err)
		}
		if bad := scans(detail); len(bad) > 0 {
			t.Errorf("counting scans %q:\n%s", bad, detail)
		}
	}
}

// TestCountStaysInTheIndex: where everybody's events are counted, the table is
// not looked at.
func TestCountStaysInTheIndex(t *testing.T) {
	s := storetest.MustOpen(t)
	for _, f := range []nostr.Filter{
		{}, {Kinds: []int{1}}, {Kinds: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
	} {
		detail, err := s.ExplainCount(t.Context(), []store.Ask{{Filter: f}})
		if err != nil || !strings.Contains(detail, "e USING COVERING INDEX") {
			t.Errorf("%s: %v\n%s", f, err, detail)
		}
	}
}

func TestHistoryPlans(t *testing.T) {
	s := storetest.MustOpen(t)
	for i := range 3 {
		s.Put(t.Context(), alice.Engram(bob, int64(i), "mem/a"), store.PutOptions{})
	}
	d, until := "x", int64(5)
	table := storetest.MustTable(t, gate.Options{})
	const byReader = "history_author (pubkey=? AND kind=? AND class=? AND reader=? AND created_at>? AND created_at<?)"
	const byAddress = "history_address (kind=? AND pubkey=? AND d=? AND created_at>? AND created_at<?)"
	for _, c := range []struct {
		scope      gate.Scope
		all, ofOne string
	}{
		{gate.Scope{}, "", ""},
		{gate.Party(table, gate.NewReader(alice.Pub)), byReader, byAddress},
		{gate.Party(table, gate.NewReader(bob.Pub)), byReader, byReader},
		{gate.Operator(), byReader, byAddress},
	} {
		for q, want := range map[*store.HistoryQuery]string{
			{Kind: 30174, Author: alice.Pub}: c.all, {Kind: 30174, Author: alice.Pub, D: &d, Until: &until}: c.ofOne,
		} {
			detail, err := s.ExplainHistory(t.Context(), c.scope, *q)
			if bad := append(scans(detail), sorts(detail)...); err != nil || !strings.Contains(detail, want) || want == "" && detail != "" || len(bad) > 0 {
				t.Errorf("want %s: %v\n%s", want, err, detail)
			}
		}
	}
}

// TestAuthorsTimesKinds: two long lists, each as a filter may have them, cost
// what their authors have, not their product.
func TestAuthorsTimesKinds(t *testing.T) {
	s := storetest.MustOpen(t)
	f := nostr.Filter{Authors: []string{alice.Pub, bob.Pub}}
	for i := range 900 {
		f.Authors = append(f.Authors, fmt.Sprintf("%064x", i))
		f.Kinds = append(f.Kinds, 2*i+1)
	}
	want := []string{}
	for i, ev := range []*nostr.Event{bob.Sign(9, 3, "in"), bob.Sign(1, 2, "in"), alice.Sign(1, 1, "in"), alice.Sign(8, 4, "out"), alice.Sign(2001, 5, "out")} {
		put(t, s, ev, store.Stored)
		if i < 3 {
			want = append(want, ev.ID)
		}
	}
	plan, err := s.ExplainQuery(t.Context(), store.Ask{Filter: f})
	if err != nil || plan.Access != "author" || plan.Spans != len(want) {
		t.Errorf("access %s, %d spans for %d authors × %d kinds: %v", plan.Access, plan.Spans, len(f.Authors), len(f.Kinds), err)
	}
	var got []string
	for _, row := range storetest.Pages(t, s, store.Ask{Filter: f, MaxRows: 2}) {
		got = append(got, hex.EncodeToString(row.ID[:]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n, err := s.Count(t.Context(), []store.Ask{{Filter: f}}); err != nil || n != int64(len(want)) {
		t.Errorf("count %d, %v", n, err)
	}
}
