package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

// versionsOf asks as these keys and reads to the end, in pages of n rows.
func versionsOf(t *testing.T, r *Relay, q HistoryQuery, n int, keys ...string) (rows []store.Row, more bool) {
	t.Helper()
	v, err := r.History(WithReader(context.Background(), gate.NewReader(keys...)), q)
	if err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		var page []store.Row
		if page, done, err = v.Next(context.Background(), n, 1<<20); err != nil {
			t.Fatal(err)
		}
		if len(page) > n || len(page) == 0 && !done {
			t.Fatalf("a page of %d rows, %d asked, done %v", len(page), n, done)
		}
		rows = append(rows, page...)
	}
	return rows, v.More()
}

func TestHistoryByPagesAndLimits(t *testing.T) {
	r, s := open(t)
	agent, owner := storetest.NewKey("agent"), storetest.NewKey("owner")
	for i := range 10 {
		if res := s.Put(context.Background(), agent.Engram(owner, int64(i), "mem/a"), store.PutOptions{}); !res.Outcome.OK() {
			t.Fatal(res.Outcome, res.Err)
		}
	}
	r.SetLimits(Limits{DefaultLimit: 4, MaxLimit: 6})
	for limit, want := range map[int]int{0: 4, 1: 1, 6: 6, 7: 6, 1 << 40: 6} {
		for _, page := range []int{1, 2, 3, 100} {
			rows, more := versionsOf(t, r, HistoryQuery{Kind: 30174, Author: agent.Pub, Limit: limit}, page, owner.Pub)
			if len(rows) != want || !more {
				t.Errorf("limit %d by %d: %d rows, more %v", limit, page, len(rows), more)
			}
			if !slices.IsSortedFunc(rows, func(a, b store.Row) int { return int(b.CreatedAt - a.CreatedAt) }) {
				t.Errorf("limit %d by %d: not newest first", limit, page)
			}
		}
	}
	r.SetLimits(Limits{})
	for _, limit := range []int{0, 9, 10} { // 9 versions are superseded
		for _, page := range []int{1, 3, 9, 10} {
			if rows, more := versionsOf(t, r, HistoryQuery{Kind: 30174, Author: agent.Pub, Limit: limit}, page, agent.Pub); len(rows) != 9 || more {
				t.Errorf("limit %d by %d: %d rows, more %v", limit, page, len(rows), more)
			}
		}
	}
	until := nostr.Timestamp(storetest.Start.Unix() + 2)
	if rows, _ := versionsOf(t, r, HistoryQuery{Kind: 30174, Author: agent.Pub, Until: &until}, 2, agent.Pub); len(rows) != 3 {
		t.Errorf("until: %d rows", len(rows))
	}
	if rows, more := versionsOf(t, r, HistoryQuery{Kind: 30174, Author: agent.Pub}, 5, storetest.NewKey("stranger").Pub); len(rows) != 0 || more {
		t.Errorf("a stranger sees %d versions, more %v", len(rows), more)
	}
}

// TestHistoryIsRefused to nobody, and by hooks, which see the question as a
// filter; failures are no empty answers.
func TestHistoryIsRefused(t *testing.T) {
	r, _ := open(t)
	agent := storetest.NewKey("agent")
	d := "x"
	q := HistoryQuery{Kind: 30090, Author: agent.Pub, D: &d, Limit: 3}
	var refusal *gate.Refusal
	if _, err := r.History(context.Background(), q); !errors.As(err, &refusal) || refusal.Prefix != nip01.PrefixAuthRequired || refusal.Rule != "contract" {
		t.Errorf("nobody: %v", err)
	}
	ctx := WithReader(context.Background(), gate.NewReader(agent.Pub))
	over, cancel := context.WithCancel(ctx)
	cancel()
	v, err := r.History(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if rows, done, err := v.Next(over, 10, 1<<20); err == nil || done || len(rows) > 0 {
		t.Errorf("a failed page: %d rows, done %v, %v", len(rows), done, err)
	}
	var seen nostr.Filter
	r.Hooks.RejectFilter = append(r.Hooks.RejectFilter, func(_ context.Context, f nostr.Filter) (bool, string) {
		seen = f
		return true, "blocked: not today"
	})
	if _, err := r.History(ctx, q); err == nil || err.Error() != "blocked: not today" {
		t.Errorf("a hook: %v", err)
	}
	want := nostr.Filter{Kinds: []int{30090}, Authors: []string{agent.Pub}, Tags: nostr.TagMap{"d": {"x"}}, Limit: 3}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("the hook saw %v, want %v", seen, want)
	}
}
