package gate

import (
	"context"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestGatePrivate: SIGHUP makes the whole relay private, and open again.
// Subscriptions without a proved key are silent from then on; only the relay's
// description of itself stays open.
func TestGatePrivate(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: "[read]\nauth_required = false\n"})
	nobody, stranger, publisher := rig.Dial(t, relay), rig.Dial(t, relay, rig.GateStranger), rig.Dial(t, relay)
	notes := relaytest.Filter{"kinds": []int{1}}
	early, proved := nobody.MustSubscribe(notes).Sub, stranger.MustSubscribe(notes).Sub
	first := relaytest.Note(rig.GateAgent, rig.Now()-3, "before")
	publisher.Store(first)
	if ev := nobody.MustLive(early); ev.ID != first.ID {
		t.Fatalf("got kind %d", ev.Kind)
	}
	if rig.LimitationOf(t, relay, "auth_required") == true {
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
	second := relaytest.Note(rig.GateAgent, rig.Now()-2, "meanwhile")
	publisher.Store(second) // writing is not affected
	for _, want := range []string{first.ID, second.ID} {
		if ev := stranger.MustLive(proved); ev.ID != want {
			t.Fatalf("who has proved a key got %s, want %s", ev.ID, want)
		}
	}
	nobody.Closed("auth-required: ", notes)
	nobody.Closed("auth-required: ", rig.ByID(first))
	if _, closed, err := nobody.Count(notes); err != nil || !rig.HasPrefix(closed, "auth-required: ") {
		t.Errorf("COUNT of nobody: CLOSED %q, %v", closed, err)
	}
	if len(stranger.MustQuery(rig.ByID(first)).Events) != 1 {
		t.Error("who has proved a key finds nothing")
	}
	if rig.LimitationOf(t, relay, "auth_required") != true {
		t.Error("NIP-11 does not ask for AUTH")
	}
	for path, want := range map[string]int{
		"/": 200, "/app/": 200, "/app/relay.json": 200, "/healthz": 200, "/readyz": 200, "/api/openapi.json": 200,
		"/api/identities/somebody": 401, rig.ContractsPath: 401, rig.ContractsPath + "/c": 401, rig.ContractsPath + "/c/memory": 401, rig.ContractsPath + "/c/memory/summary": 401,
		rig.ContractsPath + "/c/memory/e": 401, "/history?kind=1&author=" + rig.GateAgent.Pub: 401,
	} {
		resp, err := relay.Do(http.MethodGet, path, nil, nil)
		for try := 0; try < 10 && err == nil && path == "/readyz" && resp.Status == 503; try++ { // the disk may take longer than a probe waits
			resp, err = relay.Do(http.MethodGet, path, nil, nil)
		}
		if err != nil || resp.Status != want {
			t.Errorf("GET %s: %d, want %d, %v", path, resp.Status, want, err)
		}
		if want == 401 && !strings.Contains(string(resp.Body), "auth-required: ") {
			t.Errorf("GET %s: %s", path, resp.Body)
		}
	}
	if resp, err := relay.Get(rig.GateStranger, "/api/identities/somebody"); err != nil || resp.Status != 404 {
		t.Errorf("an identity, proved: %d, %v", resp.Status, err)
	}

	reload("", 2)
	third := relaytest.Note(rig.GateAgent, rig.Now()-1, "after")
	publisher.Store(third)
	ctx, cancel := context.WithTimeout(t.Context(), relaytest.Patience)
	defer cancel()
	f, err := nobody.WaitContext(ctx, func(f relaytest.Frame) bool { return eventID(f) != "" })
	if err != nil || eventID(f) != third.ID {
		t.Errorf("after it is open again the old subscription got %.120s, %v", f.Raw, err)
	}
}
