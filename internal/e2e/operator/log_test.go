package operator

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// logSecret is in every place where a client can put text of its own; no log
// line may contain it.
const logSecret = "purple-giraffe"

// logWalk uses every surface with texts that must not be in a log: keys, ids, d
// tags, contents, subscription ids, paths and query strings, in requests that
// are served and in refused ones.
func logWalk(t *testing.T, relay *rig.ManagedRelay) {
	t.Helper()
	agent, owner, stranger := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	p, nobody := rig.Dial(t, relay.Child, agent, owner), rig.Dial(t, relay.Child)
	engram := relaytest.Memory(agent, owner.Pub, "mem/"+logSecret, logSecret, rig.Now()-10)
	note := relaytest.Note(agent, rig.Now(), logSecret, rig.Tag("t", logSecret), rig.Tag("p", owner.Pub))
	p.Store(engram, note, relaytest.Entry(agent, owner.Pub, "contract-"+logSecret, "message", logSecret, rig.Now()))
	p.MustPublish(note)
	p.Refused(relaytest.Sign(agent, 7, rig.Now(), logSecret), "blocked: ")
	forged := relaytest.Note(agent, rig.Now(), logSecret)
	forged.Content += "!"
	p.Refused(forged, "invalid: ")
	protected := relaytest.Note(stranger, rig.Now(), logSecret, rig.Tag("-"))
	nobody.Refused(protected, "auth-required: ")
	p.MustQuery(relaytest.Filter{"kinds": []int{30174}, "authors": []string{agent.Pub}}, rig.ByID(note))
	p.MustQuery(relaytest.Filter{"kinds": []int{1}, "search": logSecret, "#t": []string{logSecret}})
	p.Closed("restricted: ", relaytest.Filter{"kinds": []int{30174}, "authors": []string{stranger.Pub}})
	nobody.Closed("auth-required: ", relaytest.Filter{"kinds": []int{30174}, "#d": []string{logSecret}})
	nobody.Closed("invalid: ", relaytest.Filter{logSecret: []string{agent.Pub}})
	if _, closed, err := nobody.Count(relaytest.Filter{"kinds": []int{4}, "authors": []string{agent.Pub}}); err != nil || closed == "" {
		t.Fatalf("COUNT: %q, %v", closed, err)
	}
	for _, ev := range []*nostr.Event{relaytest.AuthEvent(agent, "wss://"+logSecret+".example", nobody.Challenge, rig.Now()), relaytest.AuthEvent(agent, relay.URL, note.ID, rig.Now())} {
		if ok, err := nobody.AuthWith(ev); err != nil || ok.True {
			t.Fatalf("AUTH: %+v, %v", ok, err)
		}
	}
	for _, raw := range []string{
		`["` + logSecret + `","` + agent.Pub + `"]`, `["REQ","` + logSecret + `",{"` + logSecret + `":1}]`, `["NEG-OPEN","` + logSecret + `",{},""]`,
		`["EVENT",{"id":"` + note.ID + `","content":"` + logSecret + `"}]`, logSecret + agent.Secret, `["CLOSE"]`,
		`["REQ","` + logSecret + `","` + strings.Repeat(logSecret, 20_000) + `"]`,
	} {
		nobody.Raw(raw)
	}
	if err := nobody.Barrier(); err != nil {
		t.Fatal(err)
	}
	logWalkHTTP(t, relay, note, engram)
	p.Close()
	nobody.Close()
}

func logWalkHTTP(t *testing.T, relay *rig.ManagedRelay, note, engram *nostr.Event) {
	t.Helper()
	agent, owner, stranger := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	npub, err := nip19.EncodePublicKey(agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	calls := &rig.ContractCalls{Caller: rig.NewCaller(t, relay.Child), T: t}
	filters := fmt.Sprintf(`[{"kinds":[30174],"authors":[%q],"#d":[%q]}]`, agent.Pub, logSecret)
	for _, k := range []*relaytest.Key{nil, &agent, &stranger} {
		for _, req := range []struct{ method, path, body string }{
			{http.MethodGet, "/", ""}, {http.MethodGet, "/healthz?" + logSecret, ""}, {http.MethodGet, "/" + logSecret + "/" + agent.Pub, ""},
			{logSecret, "/", ""}, {http.MethodPut, "/query", logSecret}, {http.MethodGet, "/" + npub, ""},
			{http.MethodPost, "/events", string(rig.JSONL(t, note))}, {http.MethodPost, "/events", `{"content":"` + logSecret + `"}`},
			{http.MethodPost, "/query", filters}, {http.MethodPost, "/query", `[{"` + logSecret + `":1}]`}, {http.MethodPost, "/count", filters},
			{http.MethodGet, "/history?kind=30174&author=" + agent.Pub + "&d=" + engram.Tags.GetD(), ""}, {http.MethodGet, "/history?" + logSecret + "=1", ""},
			{http.MethodGet, rig.ContractsPath + "/contract-" + logSecret, ""}, {http.MethodGet, rig.ContractsPath + "/contract-" + logSecret + "/memory", ""},
			{http.MethodPost, rig.ContractsPath + "/contract-" + logSecret + "/memory", `{"content":"` + logSecret + `"}`},
			{http.MethodPost, "/api/identities", `{"agent_id":"` + logSecret + `","pubkey":"` + stranger.Pub + `"}`}, {http.MethodGet, "/api/identities/" + logSecret, ""},
		} {
			if _, err := calls.Signed(k, req.method, req.path, []byte(req.body)); err != nil {
				t.Fatalf("%s %s: %v", req.method, req.path, err)
			}
		}
	}
	for _, auth := range []string{"Bearer " + logSecret, "Nostr " + logSecret, logSecret, relaytest.HTTPAuth(agent, http.MethodPost, relay.HTTP("/elsewhere"), nil, rig.Now())} {
		for _, path := range []string{"/query", rig.ContractsPath} {
			if _, err := calls.MustSend(http.MethodPost, path, []byte(logSecret), http.Header{"Authorization": {auth}, "User-Agent": {logSecret}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for method, params := range map[string][]any{
		"banpubkey": {owner.Pub, logSecret}, "unbanpubkey": {owner.Pub}, "allowevent": {note.ID, logSecret}, logSecret: {agent.Pub}, "blockip": {logSecret},
	} {
		relay.Call(method, params...)
	}
	body := []byte(`{"method":"banpubkey","params":["` + agent.Pub + `"]}`)
	relay.MustSend(relay.Sign(stranger, relay.HTTP("/"), body, rig.Now()), body)
	relay.MustSend("", body)
}

// longHexRun matches hex that is longer than any the daemon makes itself.
var longHexRun = regexp.MustCompile(`[0-9a-fA-F]{32,}`)

// wantDiscreet fails if a line contains what no line may.
func wantDiscreet(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if longHexRun.MatchString(line) || strings.Contains(line, logSecret) || regexp.MustCompile(`(?i)npub1|nsec1`).MatchString(line) {
			t.Errorf("somebody's own is in the log: %.400s", line)
		}
	}
}

// TestLog_Debug: at level debug the log tells of connections, AUTH and refusals
// with their reasons, and contains no key, id or text of a client.
func TestLog_Debug(t *testing.T) {
	relay := rig.StartManaged(t, relaytest.Options{Env: []string{"ENGRAMD_LOG_LEVEL=debug", "ENGRAMD_LOG_ACCESS=true", "ENGRAMD_WRITE_BAN_KINDS=7"}})
	logWalk(t, relay)
	// A closed connection is noticed when the relay reads, not when the client
	// closes.
	if _, err := relay.Log.Wait(t.Context(), func(line string) bool {
		return strings.Contains(line, `msg="connection closed"`) && strings.Contains(line, `who=nobody why="the client`)
	}); err != nil {
		t.Fatal(err)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	log := relay.Log.Text()
	wantDiscreet(t, log)
	for _, want := range []string{
		`level=DEBUG msg="connection opened" conn=1 addr=127\.0\.0\.1`,
		`msg="connection closed" conn=\d+ addr=127\.0\.0\.1 who=nobody why="the client .*" took=\S+ frames_in=\d\d+ frames_out=\d\d+ bytes_in=\d{4,} bytes_out=\d{4,}`,
		`msg=AUTH conn=\d+ addr=127\.0\.0\.1 key=[0-9a-f]{8}\n`,
		`msg="AUTH refused" conn=\d+ addr=127\.0\.0\.1 who=nobody reason="invalid: auth event is for another relay`,
		`msg="AUTH refused" .*answers another challenge`,
		`msg=refused conn=\d+ addr=\S+ who=[0-9a-f]{8},[0-9a-f]{8} what=EVENT reason="blocked: kind 7`,
		`what=EVENT reason="invalid: `, `who=nobody what=EVENT reason="auth-required: `,
		`what=REQ reason="restricted: `, `who=nobody what=REQ reason="auth-required: `, `what=COUNT reason="auth-required: `, `what=message reason="invalid: `,
		`msg=refused addr=\S+ who=nobody what=query method=POST status=401 reason="auth-required: `,
		`who=[0-9a-f]{8} what=query method=POST status=403 reason="restricted: `,
		`what=management method=POST status=403 reason="restricted: this key does not manage`,
		`what=management method=POST status=401 reason=`, `what=contract_memory method=POST status=401`, `method=other status=`,
		`level=INFO msg=access addr=127\.0\.0\.1 who=[0-9a-f]{8} method=POST endpoint=events status=200 bytes_in=\d+ bytes=\d+ took=`,
		`msg=access addr=127\.0\.0\.1 who=[0-9a-f]{8},[0-9a-f]{8} method=GET endpoint=websocket status=101 bytes_in=\d+ bytes=\d+ took=`,
		`msg=access \S+ who=nobody method=GET endpoint=other status=404`,
	} {
		if !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("no line matches %s", want)
		}
	}
	// One key has one tag during a run, and another in the next.
	tag := func(log string) string {
		m := regexp.MustCompile(`who=([0-9a-f]{8}) method=POST endpoint=events status=200`).FindStringSubmatch(log)
		if m == nil {
			t.Fatal("nobody published over HTTP")
		}
		return m[1]
	}
	if first := tag(log); !strings.Contains(log, "key="+first+"\n") {
		t.Errorf("the key with tag %s has another one on the websocket", first)
	}
	if t.Failed() {
		t.Log(log)
	}
}

// TestLog_Info: by default nothing that clients do is logged line by line;
// SIGHUP turns the access log on.
func TestLog_Info(t *testing.T) {
	relay := rig.StartManaged(t, relaytest.Options{Config: "[write]\nban_kinds = [7]\n"})
	before := strings.Count(relay.Log.Text(), "\n")
	logWalk(t, relay)
	log := relay.Log.Text()
	wantDiscreet(t, log)
	if n := strings.Count(log, "\n") - before; n > 5 || strings.Contains(log, "msg=access") {
		t.Errorf("%d lines of a walk at info:\n%s", n, log)
	}
	if err := os.WriteFile(relay.Config, []byte("[write]\nban_kinds = [7]\n[log]\naccess = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	relay.Signal(syscall.SIGHUP)
	if _, err := relay.AwaitMetric(`engramd_config_reloads_total{outcome="ok"}`, relaytest.Patience, func(n float64) bool { return n == 1 }); err != nil {
		t.Fatal(err)
	}
	c := rig.NewCaller(t, relay.Child)
	if _, err := c.MustSend(http.MethodGet, "/healthz", nil, nil); err != nil {
		t.Fatal(err)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := relay.Log.Text(); !regexp.MustCompile(`msg=access addr=127\.0\.0\.1 who=nobody method=GET endpoint=healthz status=200`).MatchString(log) {
		t.Errorf("after log.access = true:\n%s", log)
	}
}

// TestLog_Flood: the number of lines that a client can cause is bounded, also
// at debug: 500 a second, and 5,000 at once.
func TestLog_Flood(t *testing.T) {
	relay := rig.Start(t, "ENGRAMD_LOG_LEVEL=debug")
	p := rig.Dial(t, relay)
	began := time.Now()
	const n = 20_000
	for range n / 1000 {
		p.Raw(`["nonsense"]`)
		for range 999 {
			p.MustSend("REQ", "s", relaytest.Filter{"kinds": []int{4}})
		}
		if err := p.Barrier(); err != nil { // patience holds for each thousand: the machine may be busy
			t.Fatal(err)
		}
	}
	relay.Stop()
	took := time.Since(began)
	lines := strings.Count(relay.Log.Text(), "\n")
	// A slow machine logs for longer.
	if most := 5_000 + 500*(took.Seconds()+1); float64(lines) > most || lines < 1000 {
		t.Errorf("%d lines of %d refusals in %v", lines, n, took)
	}
}
