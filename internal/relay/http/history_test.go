package relayhttp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/storetest"
)

// TestHistory: superseded versions for parties, and a strict query string.
func TestHistory(t *testing.T) {
	w := newWorld(t)
	var versions []*nostr.Event
	for i := range 4 {
		versions = append(versions, agent.Engram(owner, int64(i), "mem/a"))
	}
	w.put(versions...)
	elsewhere := []*nostr.Event{agent.Engram(stranger, 1, "mem/b"), agent.Engram(owner, 2, "mem/b")}
	w.put(elsewhere...)
	old := []*nostr.Event{versions[2], versions[1], versions[0]}
	all := slices.Insert(slices.Clone(old), 1, elsewhere[0])
	if all[2].ID < all[1].ID { // of the same second
		all[1], all[2] = all[2], all[1]
	}
	d := versions[0].Tags.GetD()
	base := "/history?kind=30174&author=" + agent.Pub
	for _, tt := range []struct {
		name, path string
		by         storetest.Key
		want       []*nostr.Event
		truncated  bool
	}{
		{"the author", base, agent, all, false},
		{"the owner", base, owner, old, false},
		{"whose it was once", base, stranger, elsewhere[:1], false},
		{"nobody's", base, storetest.NewKey("another"), nil, false},
		{"one address", base + "&d=" + d, agent, old, false},
		{"no such address", base + "&d=", agent, nil, false},
		{"until", fmt.Sprintf("%s&until=%d&d=%s", base, versions[1].CreatedAt, d), agent, old[1:], false},
		{"a limit", base + "&limit=2&d=" + d, agent, old[:2], true},
		{"a limit that is enough", base + "&limit=3&d=" + d, agent, old, false},
		{"more than the maximum", base + "&limit=2147483647", agent, all, false},
		{"another kind", "/history?author=" + agent.Pub + "&kind=1", agent, nil, false},
		{"another author", "/history?kind=30174&author=" + owner.Pub, owner, nil, false},
	} {
		rec := w.ask(tt.by, "GET", tt.path, "")
		wantIDs(t, tt.name, rec, tt.want...)
		if got := rec.Header().Get(truncated); (got == "true") != tt.truncated {
			t.Errorf("%s: %s %q", tt.name, truncated, got)
		}
	}
	for query, want := range map[string]string{
		"":                           "needs kind",
		"?kind=30174":                "needs author",
		"?author=" + agent.Pub:       "needs kind",
		"?kind=&author=" + agent.Pub: "parameter kind", "?kind=-1&author=" + agent.Pub: "parameter kind", "?kind=65536&author=" + agent.Pub: "parameter kind",
		"?kind=030174&author=" + agent.Pub: "parameter kind", "?kind=1.0&author=" + agent.Pub: "parameter kind", "?kind=%2B1&author=" + agent.Pub: "parameter kind",
		"?kind=1&author=": "parameter author", "?kind=1&author=" + strings.ToUpper(agent.Pub): "parameter author", "?kind=1&author=" + agent.Pub[1:]: "parameter author",
		"?kind=1&author=" + agent.Pub[1:] + "g": "parameter author",
		"?kind=1&kind=1&author=" + agent.Pub:    "given twice",
	} {
		rec := w.ask(agent, "GET", "/history"+query, "")
		wantProblem(t, query, rec, 400, "invalid: ")
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %s, want %q", query, rec.Body, want)
		}
	}
	for more, want := range map[string]string{
		"&since=1": "unknown parameter", "&Until=1": "unknown parameter", "&limit=0": "parameter limit", "&limit=-1": "parameter limit",
		"&limit=2147483648": "parameter limit", "&limit=1&limit=1": "given twice", "&limit=": "parameter limit", "&until=x": "parameter until",
		"&until=9223372036854775808": "parameter until", "&d=a&d=b": "given twice", "&d=%zz": "does not parse", "&a;b": "does not parse", "&x": "unknown parameter",
	} {
		rec := w.ask(agent, "GET", base+more, "")
		wantProblem(t, more, rec, 400, "invalid: ")
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %s, want %q", more, rec.Body, want)
		}
	}
}
