package websocket

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
)

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What is counted for a subscription is not less than what it holds, whatever
// its shape, and not several times as much for one with many values.
func TestFootprintIsWhatSubscriptionsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector holds memory of its own")
	}
	table, err := gate.NewTable(gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hex := func(i, j int) string { return fmt.Sprintf("%032x%032x", i, j) }
	list := func(n int, value func(j int) string) (list []string) {
		for j := range n {
			list = append(list, value(j))
		}
		return list
	}
	for _, tc := range []struct {
		name   string
		n      int
		most   float64 // times what is held
		filter func(i int) []nostr.Filter
	}{
		{"one author", 2000, 4, func(i int) []nostr.Filter { return []nostr.Filter{{Authors: []string{hex(i, 0)}}} }},
		{"one kind for all", 2000, 6, func(int) []nostr.Filter { return []nostr.Filter{{Kinds: []int{1}}} }},
		{"2,000 authors", 40, 2, func(i int) []nostr.Filter {
			return []nostr.Filter{{Kinds: []int{1}, Authors: list(2000, func(j int) string { return hex(i, j) })}}
		}},
		{"2,000 ids of an engram", 40, 2, func(i int) []nostr.Filter {
			return []nostr.Filter{{Kinds: []int{30174}, IDs: list(2000, func(j int) string { return hex(i, j) })}}
		}},
		{"2,000 d of a contract", 40, 2, func(i int) []nostr.Filter {
			return []nostr.Filter{{Kinds: []int{30090}, Tags: nostr.TagMap{"d": list(2000, func(j int) string { return fmt.Sprintf("%d-%d", i, j) })}}}
		}},
		{"2,000 short values that others have too", 40, 4, func(int) []nostr.Filter {
			return []nostr.Filter{{Tags: nostr.TagMap{"t": list(2000, func(j int) string { return fmt.Sprint(j) })}}}
		}},
		{"1,990 kinds", 40, 6, func(int) []nostr.Filter {
			f := nostr.Filter{}
			for k := range 1990 {
				f.Kinds = append(f.Kinds, 10*k)
			}
			return []nostr.Filter{f}
		}},
		{"long values", 40, 2, func(i int) []nostr.Filter {
			return []nostr.Filter{{Tags: nostr.TagMap{"t": list(200, func(j int) string { return strings.Repeat("x", 1000) + hex(i, j)[50:] })}}}
		}},
		{"16 filters of two lists", 100, 4, func(i int) (fs []nostr.Filter) {
			for k := range 16 {
				fs = append(fs, nostr.Filter{Kinds: []int{1}, Tags: nostr.TagMap{"a": {"z"}, "b": list(5, func(j int) string { return hex(i, 10*k+j) })}})
			}
			return fs
		}},
		{"16 filters of 26 lists", 20, 4, func(i int) (fs []nostr.Filter) {
			for k := range 16 {
				f := nostr.Filter{Tags: nostr.TagMap{}}
				for l := range 26 {
					f.Tags[string(rune('a'+l))] = []string{hex(i, 100*k+l)}
				}
				fs = append(fs, f)
			}
			return fs
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(&fake{}, Options{Limits: filled(Limits{}), Metrics: noMetrics})
			defer s.verifier.close()
			conns := make([]*conn, tc.n/8+1)
			for i := range conns {
				conns[i] = deafConn(s)
			}
			reader := gate.NewReader(strings.Repeat("a", 64))
			before := heap()
			counted := int64(0)
			for i := range tc.n {
				var granted []relay.Granted
				for _, f := range tc.filter(i) {
					for _, values := range []*[]string{&f.IDs, &f.Authors} {
						*values = fresh(*values)
					}
					for name := range f.Tags {
						f.Tags[name] = fresh(f.Tags[name])
					}
					scope, _ := table.ScopeFor(reader, f)
					granted = append(granted, relay.Granted{Filter: f, Scope: scope})
				}
				sub := newSubscription(conns[i%len(conns)], "s", granted)
				sub.c.feed.add(sub)
				counted += sub.holds
			}
			held := heap() - before
			runtime.KeepAlive(s)
			t.Logf("%d bytes for each are held, %d counted", held/int64(tc.n), counted/int64(tc.n))
			if counted < held || float64(counted) > tc.most*float64(held) {
				t.Errorf("%d bytes are held, %d counted", held, counted)
			}
			for _, c := range conns {
				for _, sub := range c.feed.list() {
					sub.close(nil)
				}
			}
			if len(s.live.places) != 0 || s.filters.Used() != 0 {
				t.Errorf("%d places and %d bytes are left", len(s.live.places), s.filters.Used())
			}
		})
	}
}

// fresh gives a list one backing of its own, as wire.ParseFilter does.
func fresh(list []string) []string {
	all := strings.Clone(strings.Join(list, ""))
	for i, v := range list {
		list[i], all = all[:len(v)], all[len(v):]
	}
	return list
}
