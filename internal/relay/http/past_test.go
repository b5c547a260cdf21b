package relayhttp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestPast: everybody's superseded versions, for keys of gate.replicas, in the
// order of arrival and a page at a time; nothing is twice or missing.
func TestPast(t *testing.T) {
	w := newWorld(t)
	replica := storetest.NewKey("replica")
	table := storetest.MustTable(t, gate.Options{Replicas: []string{replica.Pub}, Contracts: "parties"})
	if err := w.store.CheckTable(table); err != nil {
		t.Fatal(err)
	}
	w.relay.SetTable(table)
	var versions []*nostr.Event
	for i := range 5 {
		versions = append(versions, agent.Engram(owner, int64(i), "mem/a"), agent.Entry(owner, int64(i), "contract-1", fmt.Sprint("word ", i)))
	}
	w.put(versions...)
	past := versions[:8]
	type version struct {
		ID  string
		Seq int64
	}
	ask := func(path string) (page []version, more bool, position int64) {
		t.Helper()
		rec := w.ask(replica, "GET", path, "")
		if rec.Code != 200 || json.Unmarshal(rec.Body.Bytes(), &page) != nil {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
		position, err := strconv.ParseInt(rec.Header().Get("Engramd-Position"), 10, 64)
		if err != nil {
			t.Fatalf("%s: position: %v", path, err)
		}
		return page, rec.Header().Get(truncated) == "true", position
	}
	for _, limit := range []int{1, 3, 100} {
		var got []string
		for after, more := int64(0), true; more; {
			var page []version
			var position int64
			page, more, position = ask(fmt.Sprintf("/history?after=%d&limit=%d", after, limit))
			if len(page) == 0 || len(page) > limit || page[0].Seq <= after || position < page[len(page)-1].Seq {
				t.Fatalf("limit %d: a page %v after %d at %d", limit, page, after, position)
			}
			for _, v := range page {
				got, after = append(got, v.ID), v.Seq
			}
		}
		if want := ids(past); !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
	entries, _, position := ask("/history?after=0&kind=30091,30090&arrival=true")
	if len(entries) != 4 || entries[0].ID != past[1].ID {
		t.Errorf("by kind: %v", entries)
	}
	if none, more, _ := ask(fmt.Sprint("/history?after=", position)); len(none) > 0 || more {
		t.Errorf("after the last: %v %v", none, more)
	}
	for since, want := range map[int64]int{0: 4, w.clock.Now().Unix(): 4, w.clock.Now().Unix() + 1: 0} { // engrams alone
		if got, _, _ := ask(fmt.Sprint("/history?after=0&limit=3&since=", since)); len(got) != min(want, 3) {
			t.Errorf("since %d: %v, want %d", since, got, want)
		} else if want > 0 {
			if rest, more, _ := ask(fmt.Sprintf("/history?after=%d&since=%d", got[2].Seq, since)); len(rest) != 1 || more || rest[0].ID != past[6].ID {
				t.Errorf("since %d, the rest: %v", since, rest)
			}
		}
	}
	for _, key := range []storetest.Key{agent, owner, stranger} {
		rec := w.ask(key, "GET", "/history?after=0", "")
		wantProblem(t, "not a replica", rec, 403, "restricted: ")
	}
	for query, want := range map[string]string{
		"?after=": "parameter after", "?after=-1": "parameter after", "?after=01": "parameter after", "?after=9223372036854775808": "parameter after",
		"?after=0&after=1": "given twice", "?after=0&since=": "parameter since", "?after=0&kind=": "parameter kind", "?after=0&kind=1,,2": "parameter kind", "?after=0&kind=65536": "parameter kind",
		"?after=0&kind=1" + strings.Repeat(",1", maxPastKinds): "parameter kind", "?after=0&until=1": "unknown parameter", "?after=0&limit=0": "parameter limit",
		"?after=0&arrival=1": "parameter arrival", "?after=0&d=x": "unknown parameter",
		"?after=0&kind=1&author=" + agent.Pub: "unknown parameter",
	} {
		rec := w.ask(replica, "GET", "/history"+query, "")
		wantProblem(t, query, rec, 400, "invalid: ")
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %s, want %q", query, rec.Body, want)
		}
	}
	// Off the list again, nothing is shown.
	w.relay.SetTable(storetest.MustTable(t, gate.Options{}))
	wantProblem(t, "off the list", w.ask(replica, "GET", "/history?after=0", ""), 403, "restricted: ")
}

func ids(events []*nostr.Event) (out []string) {
	for _, ev := range events {
		out = append(out, ev.ID)
	}
	return out
}
