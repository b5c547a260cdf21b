package relay

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

// decisions is how many the gate has made about a surface, as metrics count them.
func decisions(t *testing.T, m *metrics.Metrics, surface gate.Surface) (sum int) {
	w := httptest.NewRecorder()
	m.Handler(false).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if value, found := strings.CutPrefix(line, "engramd_gate_decisions_total{"); found && strings.Contains(value, `surface="`+surface.String()+`"`) {
			n, err := strconv.Atoi(strings.TrimSpace(value[strings.LastIndexByte(value, ' '):]))
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// What the gate refuses, khatru's hooks refuse, in the same words, and it
// decides once: as hook or, if it was taken out, without. A policy comes first.
func TestTheGateIsAmongTheHooks(t *testing.T) {
	names, err := NewNames(nil, netip.MustParseAddrPort("127.0.0.1:7447"))
	if err != nil {
		t.Fatal(err)
	}
	table, meter := storetest.MustTable(t, gate.Options{}), metrics.New("test")
	r, err := New(Config{Names: names, Metrics: meter.Relay}, table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	policy := func(_ context.Context, f nostr.Filter) (bool, string) { return f.Limit == 77, "blocked: not today" }
	r.Hooks.RejectFilter = append(r.Hooks.RejectFilter, policy)
	r.Hooks.RejectCountFilter = append(r.Hooks.RejectCountFilter, policy)
	if err := r.Attach(storetest.MustOpen(t, func(o *sqlite.Options) { o.OnCommit = r.Committed })); err != nil {
		t.Fatal(err)
	}
	agent, other := storetest.NewKey("agent"), storetest.NewKey("other")
	filters := []nostr.Filter{
		{}, {Kinds: []int{1}}, {Kinds: []int{30174}}, {IDs: []string{agent.Pub}, Kinds: []int{30174}},
		{Kinds: []int{30174}, Authors: []string{agent.Pub}}, {Kinds: []int{4}, Tags: nostr.TagMap{"p": {agent.Pub}}},
		{Kinds: []int{1, 1059}, Tags: nostr.TagMap{"p": {agent.Pub, other.Pub}}}, {Kinds: []int{30090}, Tags: nostr.TagMap{"d": {"x"}}},
		{Kinds: []int{30174}, Limit: 77},
	}
	khatru := map[gate.Surface][]func(context.Context, nostr.Filter) (bool, string){
		gate.SurfaceReq: r.Hooks.RejectFilter, gate.SurfaceSearch: r.Hooks.RejectFilter, gate.SurfaceCount: r.Hooks.RejectCountFilter,
	}
	refused := 0
	for _, reader := range []gate.Reader{{}, gate.NewReader(agent.Pub), gate.NewReader(agent.Pub, other.Pub)} {
		ctx := WithReader(t.Context(), reader)
		for surface, hooks := range khatru {
			for _, f := range filters {
				asked := surface
				if surface == gate.SurfaceSearch {
					f.Search, asked = "word", gate.SurfaceReq
				}
				said := ""
				for _, hook := range hooks {
					if refused, message := hook(ctx, f); refused {
						said = message
						break
					}
				}
				want := ""
				if _, err := table.ScopeFor(reader, f); f.Limit == 77 {
					want = "blocked: not today"
				} else if err != nil {
					want, refused = err.Error(), refused+1
				}
				if said != want {
					t.Errorf("%v %v: the hooks say %q, the gate %q", surface, f, said, want)
				}
				before := decisions(t, meter, surface)
				granted, err := r.Authorize(ctx, asked, []nostr.Filter{f})
				var refusal *nip01.Refusal
				if want == "" && (err != nil || len(granted) != 1) || want != "" && (!errors.As(err, &refusal) || refusal.Error() != want) {
					t.Errorf("%v %v: authorized %v, %v; the gate says %q", surface, f, granted, err, want)
				}
				if n := decisions(t, meter, surface) - before; n != 1 && f.Limit != 77 || n != 0 && f.Limit == 77 {
					t.Errorf("%v %v: %d decisions", surface, f, n)
				}
			}
		}
	}
	if refused < 20 {
		t.Errorf("only %d filters were refused", refused)
	}
	gateHook := r.Hooks.RejectFilter[len(r.Hooks.RejectFilter)-1]
	for name, hook := range map[string]func(context.Context, nostr.Filter) (bool, string){
		"its word is not heeded": func(ctx context.Context, f nostr.Filter) (bool, string) { gateHook(ctx, f); return false, "" },
		"it is asked about another filter": func(ctx context.Context, _ nostr.Filter) (bool, string) {
			return gateHook(ctx, nostr.Filter{Kinds: []int{1}})
		},
	} {
		r.Hooks.RejectFilter = []func(context.Context, nostr.Filter) (bool, string){hook}
		if _, err := r.Authorize(t.Context(), gate.SurfaceReq, []nostr.Filter{{Kinds: []int{30174}}}); err == nil {
			t.Errorf("the gate lets everything pass where %s", name)
		}
	}
	r.Hooks.RejectFilter = nil
	if _, err := r.Authorize(t.Context(), gate.SurfaceReq, []nostr.Filter{{Kinds: []int{30174}}}); err == nil {
		t.Error("without its hook the gate lets everything pass")
	}
}
