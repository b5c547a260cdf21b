package contracts

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestContracts_Proofs sends invalid proofs to the API, and valid ones twice,
// before and after a restart.
func TestContracts_Proofs(t *testing.T) {
	env := "ENGRAMD_ADMIN_KEYS=" + rig.ManagerKey().Pub
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Listen: relaytest.OwnAddress(), Env: []string{env}})
	poster, worker := relaytest.NewKey(851), relaytest.NewKey(852)
	id := "25becee1-0000-4000-8000-0000000000aa"
	rig.Dial(t, relay).Store(relaytest.State(poster, worker.Pub, id, "open", "", rig.Now()-100), relaytest.State(worker, poster.Pub, id, "accepted", "open", rig.Now()-99))
	memory := rig.ContractsPath + "/" + id + "/memory"
	note := []byte(`{"type":"note","visibility":"poster_only","content":"cedar"}`)
	c := rig.NewCaller(t, relay)
	proof := func(k relaytest.Key, method, path string, body []byte, at int64, nonce string) string {
		return relaytest.HTTPAuthWith(k, method, c.Relay.HTTP(path), body, at, rig.Tag("nonce", nonce))
	}
	send := func(method, path string, body []byte, auth string) (int, string) {
		t.Helper()
		header := http.Header{}
		if auth != "" {
			header.Set("Authorization", auth)
		}
		resp, err := c.MustSend(method, path, body, header)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status, string(resp.Body)
	}
	total := func(want string) {
		t.Helper()
		status, text := send(http.MethodGet, memory+"/summary", nil, proof(poster, http.MethodGet, memory+"/summary", nil, rig.Now(), "summary"))
		if status != http.StatusOK || !strings.Contains(text, `"total_entries":`+want+`,`) {
			t.Errorf("%d %s, want %s entries", status, text, want)
		}
	}
	// forge changes a proof after it was signed.
	forge := func(auth string, change func(*nostr.Event)) string {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(auth, "Nostr "))
		if err != nil {
			t.Fatal(err)
		}
		var ev nostr.Event
		if err := json.Unmarshal(raw, &ev); err != nil {
			t.Fatal(err)
		}
		change(&ev)
		if raw, err = json.Marshal(ev); err != nil {
			t.Fatal(err)
		}
		return "Nostr " + base64.StdEncoding.EncodeToString(raw)
	}
	good := func() string { return proof(poster, http.MethodPost, memory, note, rig.Now(), t.Name()) }
	bad := map[string]string{
		"none":                "",
		"a token of nobody's": "Bearer " + strings.Repeat("a", 64),
		"no proof at all":     "Basic YTpi",
		"an old one":          proof(poster, http.MethodPost, memory, note, rig.Now()-3600, "old"),
		"one of tomorrow":     proof(poster, http.MethodPost, memory, note, rig.Now()+86400, "new"),
		"of another path":     proof(poster, http.MethodPost, memory+"/search", note, rig.Now(), "path"),
		"of another method":   proof(poster, http.MethodGet, memory, note, rig.Now(), "method"),
		"of another body":     proof(poster, http.MethodPost, memory, []byte("{}"), rig.Now(), "body"),
		"of no body":          proof(poster, http.MethodPost, memory, nil, rig.Now(), "nobody"),
		"a wrong signature": forge(good(), func(ev *nostr.Event) {
			ev.Sig = ev.Sig[:126] + map[bool]string{true: "00", false: "01"}[ev.Sig[126:] != "00"]
		}),
		"another's key": forge(good(), func(ev *nostr.Event) { ev.PubKey = worker.Pub }),
		"a later time":  forge(good(), func(ev *nostr.Event) { ev.CreatedAt++ }),
	}
	for name, auth := range bad {
		if status, text := send(http.MethodPost, memory, note, auth); status != http.StatusUnauthorized || !strings.HasPrefix(text, `{"error":"auth-required: `) || strings.Contains(text, poster.Pub) {
			t.Errorf("%s: %d %s, want 401", name, status, text)
		}
		if name == "none" {
			continue // nobody reads what is shared
		}
		if status, text := send(http.MethodGet, memory, nil, auth); status == http.StatusOK {
			t.Errorf("%s reads: %d %s", name, status, text)
		}
	}
	total("0")
	// Other keys' proofs are valid, but not for this request.
	for name, k := range map[string]relaytest.Key{"the worker": worker, "a stranger": relaytest.Stranger(), "the operator": rig.ManagerKey()} {
		if status, text := send(http.MethodPost, memory, note, proof(k, http.MethodPost, memory, note, rig.Now(), name)); status != http.StatusForbidden {
			t.Errorf("%s writes for the poster: %d %s, want 403", name, status, text)
		}
	}
	if status, text := send(http.MethodGet, memory+"?requester_agent_id="+poster.Pub, nil, proof(worker, http.MethodGet, memory+"?requester_agent_id="+poster.Pub, nil, rig.Now(), "as")); status != http.StatusForbidden {
		t.Errorf("the worker reads as the poster: %d %s, want 403", status, text)
	}
	total("0")

	once := good()
	if status, text := send(http.MethodPost, memory, note, once); status != http.StatusCreated {
		t.Fatalf("%d %s, want 201", status, text)
	}
	if status, text := send(http.MethodPost, memory, note, once); status != http.StatusUnauthorized {
		t.Errorf("again: %d %s, want 401", status, text)
	}
	total("1")

	// A restart at the same address, because a proof names it.
	addr := strings.TrimSuffix(strings.TrimPrefix(relay.HTTP(""), "http://"), "/")
	relay.Kill()
	relay = relaytest.Start(t, relaytest.Options{Build: rig.Watched, Data: relay.Data, Listen: addr, Env: []string{env}})
	if !strings.Contains(relay.HTTP("/"), addr) {
		t.Fatalf("the relay is at %s now, not at %s", relay.HTTP("/"), addr)
	}
	c = rig.NewCaller(t, relay)
	if status, text := send(http.MethodPost, memory, note, once); status != http.StatusUnauthorized || !strings.Contains(text, "used before") {
		t.Errorf("after a restart: %d %s, want 401", status, text)
	}
	total("1")
	if status, text := send(http.MethodPost, memory, note, proof(poster, http.MethodPost, memory, note, rig.Now(), "fresh")); status != http.StatusCreated {
		t.Errorf("a new proof: %d %s, want 201", status, text)
	}
	total("2")
}
