package operator

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
)

const done = `{"result":true}`

// managementMethods returns a valid call for every method that a relay lists.
func managementMethods(relay *rig.ManagedRelay) map[string]string {
	key, id := relaytest.NewKey(77).Pub, strings.Repeat("7", 64)
	params := map[string]string{}
	for _, name := range []string{"banpubkey", "allowpubkey", "unbanpubkey", "unallowpubkey"} {
		params[name] = `["` + key + `"]`
	}
	for _, name := range []string{"banevent", "allowevent", "unbanevent", "unallowevent"} {
		params[name] = `["` + id + `"]`
	}
	params["allowkind"], params["disallowkind"] = `[7]`, `[7]`
	params["blockip"], params["unblockip"] = `["192.0.2.1"]`, `["192.0.2.1"]`
	snapshotParams(relay, params)
	params["changerelayname"], params["changerelaydescription"], params["changerelayicon"] = `["x"]`, `["x"]`, `["https://x.example"]`
	var listed struct{ Result []string }
	if err := json.Unmarshal([]byte(relay.Call("supportedmethods")), &listed); err != nil || len(listed.Result) < 20 {
		relay.T.Fatalf("supportedmethods: %v, %v", listed.Result, err)
	}
	bodies := map[string]string{"supportedmethods": `{"method":"supportedmethods","params":[]}`}
	for _, name := range listed.Result {
		p := params[name]
		if p == "" {
			p = "[]"
		}
		bodies[name] = `{"method":"` + name + `","params":` + p + `}`
	}
	return bodies
}

// snapshotParams makes two snapshots, one to read and one to delete.
func snapshotParams(relay *rig.ManagedRelay, params map[string]string) {
	agent := relaytest.Agent()
	event := wire.AppendEvent(nil, relaytest.Memory(agent, relaytest.Owner().Pub, "mem/a", "x", 1_700_000_000))
	if put := relay.Run(event, "import", "--data", relay.Data); put.Code != 0 {
		relay.T.Fatal(string(put.Stderr))
	}
	var ids [2]string
	for i := range ids {
		var made struct{ Result struct{ ID string } }
		answer := relay.Call("createsnapshot", map[string]any{"agent": agent.Pub})
		if err := json.Unmarshal([]byte(answer), &made); err != nil || made.Result.ID == "" {
			relay.T.Fatalf("%s, %v", answer, err)
		}
		ids[i] = made.Result.ID
	}
	of := `[{"agent":"` + agent.Pub + `"`
	params["listsnapshots"], params["createsnapshot"] = of+`}]`, of+`}]`
	params["verifysnapshot"] = of + `,"id":"` + ids[0] + `"}]`
	params["restoresnapshot"] = of + `,"id":"` + ids[0] + `","dry_run":true}]`
	params["pinsnapshot"] = of + `,"id":"` + ids[0] + `"}]`
	params["unpinsnapshot"] = params["pinsnapshot"]
	params["deletesnapshot"] = of + `,"id":"` + ids[1] + `"}]`
}

// TestAdmin_PermissionTable: every caller on every method. Only a managing key
// with a recent signature for this relay and this body, used for the first
// time, gets an answer, and only such calls are in the audit table.
func TestAdmin_PermissionTable(t *testing.T) {
	t.Parallel() // it mostly waits
	relay := rig.StartManaged(t, relaytest.Options{})
	admin, stranger, url := rig.ManagerKey(), relaytest.Stranger(), relay.HTTP("/")
	answered := 3 // supportedmethods and two snapshots
	for name, text := range managementMethods(relay) {
		body, good := []byte(text), ""
		// Each signs when it is sent: on a busy machine the others may take a while.
		sign := func(k relaytest.Key, url string, body []byte, off int64) func() string {
			return func() string { return relay.Sign(k, url, body, rig.Now()+off) }
		}
		for _, c := range []struct {
			who    string
			auth   func() string
			prefix string
			status int
		}{
			{"nobody", func() string { return "" }, "auth-required: ", 401},
			{"a stranger", sign(stranger, url, body, 0), "restricted: ", 403},
			{"an expired signature", sign(admin, url, body, -120), "auth-required: ", 401},
			{"a signature from the future", sign(admin, url, body, 120), "auth-required: ", 401},
			{"another payload", sign(admin, url, []byte(text+" "), 0), "auth-required: ", 401},
			{"no payload", sign(admin, url, nil, 0), "auth-required: ", 401},
			{"another relay", sign(admin, "https://relay.example/", body, 0), "auth-required: ", 401},
			{"another path", sign(admin, relay.HTTP("/events"), body, 0), "auth-required: ", 401},
			{"the manager", func() string { good = sign(admin, url, body, 0)(); return good }, "", 200},
			{"the manager's call, replayed", func() string { return good }, "auth-required: ", 401},
			{"the manager, by the websocket URL", sign(admin, relay.URL, body, 0), "", 200},
		} {
			if name == "deletesnapshot" && c.who == "the manager, by the websocket URL" {
				continue // it is gone
			}
			resp := relay.MustSend(c.auth(), body)
			var doc map[string]any
			err := json.Unmarshal(resp.Body, &doc)
			text, _ := doc["error"].(string)
			if resp.Status != c.status || err != nil || len(doc) != 1 || c.prefix != "" && !strings.HasPrefix(text, c.prefix) || c.prefix == "" && doc["result"] == nil {
				t.Errorf("%s by %s: %d %s, %v; want %d %s", name, c.who, resp.Status, resp.Body, err, c.status, c.prefix)
			}
			if c.status == 200 {
				answered++
			}
		}
	}
	r := relay.Run(nil, "audit", "--data", relay.Data, "--json", "--limit", "0")
	// A call that may take long has a line at its beginning, too.
	lines, begun := strings.Count(string(r.Stdout), "\n"), strings.Count(string(r.Stdout), `"outcome":"begun"`)
	if lines-begun != answered || begun == 0 || strings.Contains(string(r.Stdout), stranger.Pub) {
		t.Errorf("%d lines in the audit table and %d beginnings, want %d", lines-begun, begun, answered)
	}
	if n, err := relay.Metric("engramd_management_refused_total"); err != nil || n == 0 {
		t.Errorf("refused calls are not counted: %v, %v", n, err)
	}
}

// TestAdmin_TakesEffectAtOnce: on writes, reads, connections and NIP-11, also
// after SIGHUP, SIGKILL and a restart; used signatures are still known then.
func TestAdmin_TakesEffectAtOnce(t *testing.T) {
	agent, owner, stranger := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	relay := rig.StartManaged(t, relaytest.Options{Listen: relaytest.OwnAddress(), Config: "[write]\nban_kinds = [4]\n"})
	c := rig.Dial(t, relay.Child, owner)
	base := rig.Now() - 100
	engram, note := relaytest.Memory(agent, owner.Pub, "core", "I am", base), relaytest.Note(stranger, base, "cedar")
	c.Store(engram, note)
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}}

	// The answer is the same whether the event exists, is gated, or does not
	// exist.
	for _, id := range []string{engram.ID, note.ID, strings.Repeat("e", 64)} {
		relay.Want(done, "banevent", id)
	}
	relay.Want(done, "banpubkey", stranger.Pub, "spam")
	relay.Want(done, "disallowkind", 7)
	relay.Want(done, "changerelayname", "another name")
	relay.Want(done, "blockip", "192.0.2.0/24")

	check := func(when string) {
		t.Helper()
		c := rig.Dial(t, relay.Child, owner)
		if got := c.MustQuery(mine, rig.ByID(engram, note)); len(got.Events) != 0 {
			t.Errorf("%s: %d banned events are served", when, len(got.Events))
		}
		c.Refused(engram, "blocked: ")
		c.Refused(note, "blocked: ")
		c.Refused(relaytest.Note(stranger, base+1, "more"), "blocked: ")
		c.Refused(relaytest.Sign(agent, 7, base, "+"), "blocked: ")
		c.Refused(relaytest.Sign(agent, 4, base, "x", rig.Tag("p", owner.Pub)), "blocked: ")
		info, err := relay.Do(http.MethodGet, "/", nil, http.Header{"Accept": {"application/nostr+json"}})
		if text := string(info.Body); err != nil || !strings.Contains(text, `"name":"another name"`) || !strings.Contains(text, ",86,") {
			t.Errorf("%s: NIP-11 %s, %v", when, text, err)
		}
		if r := relay.Run(nil, "check", "--data", relay.Data); r.Code != 0 {
			t.Errorf("%s: check: %s%s", when, r.Stdout, r.Stderr)
		}
	}
	check("at once")
	if r := relay.Run(rig.JSONL(t, engram, note), "import", "--data", relay.Data, "-"); !strings.Contains(r.Stderr, "banned") {
		t.Errorf("an import brings banned events back:\n%s", r.Stderr)
	}
	relay.Signal(syscall.SIGHUP)
	if _, err := relay.AwaitMetric(`engramd_config_reloads_total{outcome="ok"}`, relaytest.Patience, func(n float64) bool { return n > 0 }); err != nil {
		t.Fatal(err)
	}
	check("after SIGHUP")

	body := []byte(`{"method":"unbanpubkey","params":["` + stranger.Pub + `"]}`)
	once := relay.Sign(rig.ManagerKey(), relay.HTTP("/"), body, rig.Now())
	if resp := relay.MustSend(once, body); resp.Status != 200 {
		t.Fatalf("%d %s", resp.Status, resp.Body)
	}
	relay.Want(done, "banpubkey", stranger.Pub)
	listen := strings.TrimPrefix(relay.URL, "ws://")
	relay.Kill()
	next := rig.StartManaged(t, relaytest.Options{Data: relay.Data, Listen: listen, Config: "[write]\nban_kinds = [4]\n"})
	next.N, relay = relay.N, next
	if resp := relay.MustSend(once, body); resp.Status != 401 {
		t.Errorf("a call of before the restart is carried out again: %d %s", resp.Status, resp.Body)
	}
	check("after a restart")
	relay.Want(done, "allowevent", engram.ID)
	rig.Dial(t, relay.Child).Store(engram)
}

// TestAdmin_BlockedAddress: blocking an address, as a trusted proxy reports it,
// closes its connections and refuses new ones; the manager is admitted to lift
// the block.
func TestAdmin_BlockedAddress(t *testing.T) {
	relay := rig.StartManaged(t, relaytest.Options{Env: []string{"ENGRAMD_PROXY_TRUSTED=127.0.0.1"}})
	from := func(addr string) http.Header { return http.Header{"X-Forwarded-For": {addr}} }
	connect := func(addr string) *relaytest.Client {
		t.Helper()
		c, err := relaytest.Connect(relay.URL, from(addr))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	bad, good := connect("192.0.2.7"), connect("198.51.100.7")
	relay.Want(done, "blockip", "192.0.2.0/24", "flood")
	if code, err := bad.CloseCode(); err != nil || code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d, %v", code, err)
	}
	if err := good.Barrier(); err != nil {
		t.Errorf("another address: %v", err)
	}
	if c, err := relaytest.Connect(relay.URL, from("192.0.2.8")); err == nil {
		c.Close()
		t.Error("a blocked address is let in")
	}
	body := []byte(`[{"kinds":[1]}]`)
	signed := from("192.0.2.9")
	signed.Set("Authorization", relaytest.HTTPAuth(relaytest.Stranger(), "POST", relay.HTTP("/query"), body, rig.Now()))
	if resp, err := relay.Calls.MustSend("POST", "/query", body, signed); err != nil || resp.Status != 403 {
		t.Errorf("/query from a blocked address: %d %s, %v", resp.Status, resp.Body, err)
	}
	relay.Want(done, "unblockip", "192.0.2.0/24")
	connect("192.0.2.7")
}
