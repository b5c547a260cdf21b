package relayhttp

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestDamagedOverHTTP: a question about single events is 500, any other has the
// rest and says what it lacks.
func TestDamagedOverHTTP(t *testing.T) {
	w := newWorld(t)
	old, head := agent.Engram(owner, 1, "mem/a"), agent.Engram(owner, 2, "mem/a")
	other := agent.Engram(owner, 3, "mem/b")
	w.put(old, head, agent.Engram(owner, 0, "mem/b"), other)
	ids := []string{old.ID, head.ID}
	for _, table := range []string{"events", "history"} {
		storetest.Outside(t, w.path, "UPDATE "+table+" SET json = CAST(replace(json, ':\"A', ':\"B') AS BLOB) WHERE created_at IN (1700000001, 1700000002)")
	}
	address := `[{"kinds":[30174],"authors":["` + agent.Pub + `"],"#d":["` + head.Tags.GetD() + `"]}]`
	for _, ask := range []string{`[{"ids":["` + head.ID + `"]}]`, address} {
		wantProblem(t, ask, w.ask(agent, "POST", "/query", ask), 500, "error: damaged")
	}
	rec := w.ask(agent, "POST", "/query", `[{"kinds":[30174],"authors":["`+agent.Pub+`"]}]`)
	if got := strings.TrimSpace(rec.Body.String()); rec.Code != 200 || got != "["+string(wire.AppendEvent(nil, other))+"]" || rec.Header().Get(truncated) != "true" || rec.Header().Get(damaged) != "1" {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), got)
	}
	rec = w.ask(agent, "GET", "/history?kind=30174&author="+agent.Pub, "")
	if got := rec.Body.String(); rec.Code != 200 || strings.Count(got, `"id"`) != 1 || rec.Header().Get(truncated) != "true" || rec.Header().Get(damaged) != "1" {
		t.Errorf("history: %d %v %s", rec.Code, rec.Header(), got)
	}
	wantProblem(t, "history", w.ask(agent, "GET", "/history?kind=30174&author="+agent.Pub+"&d="+head.Tags.GetD(), ""), 500, "error: damaged")

	// Rotten old versions are nothing to who asks for the head.
	w.put(head)
	for _, ev := range []*nostr.Event{head, other} {
		if rec = w.ask(agent, "POST", "/query", address); rec.Code != 200 || !strings.Contains(rec.Body.String(), ids[1]) {
			t.Errorf("head of %s: %d %s", ev.ID, rec.Code, rec.Body)
		}
	}
	w.put(old)
	if rec = w.ask(agent, "GET", "/history?kind=30174&author="+agent.Pub+"&d="+head.Tags.GetD(), ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), ids[0]) {
		t.Errorf("healed history: %d %s", rec.Code, rec.Body)
	}
}
