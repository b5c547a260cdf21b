package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// limitationOf reads one field of NIP-11's limitation.
func limitationOf(t *testing.T, relay *relaytest.Child, name string) any {
	t.Helper()
	resp, err := relay.Do(http.MethodGet, "/", nil, http.Header{"Accept": {"application/nostr+json"}})
	if err != nil || resp.Status != http.StatusOK {
		t.Fatalf("NIP-11: %d, %v", resp.Status, err)
	}
	var doc struct{ Limitation map[string]any }
	if err := json.Unmarshal(resp.Body, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Limitation[name]
}

// TestGatePrivate: SIGHUP makes the whole relay private and open again. What
// was subscribed to by nobody before is silent from then on; what says what this
// relay is stays open, and nothing else does.
func TestGatePrivate(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: watched, Config: "[read]\nauth_required = false\n"})
	nobody, stranger, publisher := dial(t, relay), dial(t, relay, gateStranger), dial(t, relay)
	notes := relaytest.Filter{"kinds": []int{1}}
	early, proved := nobody.subscribe(notes).Sub, stranger.subscribe(notes).Sub
	first := relaytest.Note(gateAgent, now()-3, "before")
	publisher.store(first)
	if ev := nobody.live(early); ev.ID != first.ID {
		t.Fatalf("got kind %d", ev.Kind)
	}
	if limitationOf(t, relay, "auth_required") == true {
		t.Error("NIP-11 asks for AUTH where none is needed")
	}

	reload := func(text string, times float64) {
		t.Helper()
		if err := os.WriteFile(relay.Config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		relay.Signal(syscall.SIGHUP)
		if _, err := relay.AwaitMetric(`engramd_config_reloads_total{outcome="ok"}`, relaytest.Patience, func(n float64) bool { return n == times }); err != nil {
			t.Fatalf("%v\n%s", err, relay.Log.Text())
		}
	}
	reload("[read]\nauth_required = true\n", 1)
	second := relaytest.Note(gateAgent, now()-2, "meanwhile")
	publisher.store(second) // writing is another question
	for _, want := range []string{first.ID, second.ID} {
		if ev := stranger.live(proved); ev.ID != want {
			t.Fatalf("who has proved a key got %s, want %s", ev.ID, want)
		}
	}
	nobody.closed("auth-required: ", notes)
	nobody.closed("auth-required: ", byID(first))
	if _, closed, err := nobody.Count(notes); err != nil || !hasPrefix(closed, "auth-required: ") {
		t.Errorf("COUNT of nobody: CLOSED %q, %v", closed, err)
	}
	if len(stranger.query(byID(first)).Events) != 1 {
		t.Error("who has proved a key finds nothing")
	}
	if limitationOf(t, relay, "auth_required") != true {
		t.Error("NIP-11 does not ask for AUTH")
	}
	for path, want := range map[string]int{
		"/": 200, "/healthz": 200, "/readyz": 200, "/api/openapi.json": 200,
		"/api/identities/somebody": 401, contractsPath: 401, contractsPath + "/c": 401, contractsPath + "/c/memory": 401, contractsPath + "/c/memory/summary": 401,
		contractsPath + "/c/memory/e": 401, "/history?kind=1&author=" + gateAgent.Pub: 401,
	} {
		resp, err := relay.Do(http.MethodGet, path, nil, nil)
		if err != nil || resp.Status != want {
			t.Errorf("GET %s: %d, want %d, %v", path, resp.Status, want, err)
		}
		if want == 401 && !strings.Contains(string(resp.Body), "auth-required: ") {
			t.Errorf("GET %s: %s", path, resp.Body)
		}
	}
	if resp, err := relay.Get(gateStranger, "/api/identities/somebody"); err != nil || resp.Status != 404 {
		t.Errorf("an identity, proved: %d, %v", resp.Status, err)
	}

	reload("", 2)
	third := relaytest.Note(gateAgent, now()-1, "after")
	publisher.store(third)
	ctx, cancel := context.WithTimeout(t.Context(), relaytest.Patience)
	defer cancel()
	f, err := nobody.WaitContext(ctx, func(f relaytest.Frame) bool { return eventID(f) != "" })
	if err != nil || eventID(f) != third.ID {
		t.Errorf("after it is open again the old subscription got %.120s, %v", f.Raw, err)
	}
}
