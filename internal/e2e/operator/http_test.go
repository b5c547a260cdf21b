package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// buzz makes requests as the command-line client `buzz mem` does: a relay URL
// with http, a NIP-98 event with a nonce beside u, method and payload, an
// attestation header on every request, which counts only where write.owners
// demands one (this one attests nothing), filters in an array.
type buzz struct {
	*rig.Caller
	t   *testing.T
	key relaytest.Key
	url string
	n   int
}

func (b *buzz) post(path, body string) relaytest.Response {
	b.t.Helper()
	b.n++
	resp, err := b.MustSend(http.MethodPost, path, []byte(body), http.Header{
		"Authorization": {relaytest.HTTPAuthWith(b.key, http.MethodPost, b.url+path, []byte(body), rig.Now(),
			nostr.Tag{"nonce", fmt.Sprintf("5f0c1c0e-0000-4000-8000-%012d", b.n)})},
		"Content-Type": {"application/json"},
		"X-Auth-Tag":   {`["auth","` + relaytest.Owner().Pub + `","","00"]`},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

// head looks for the head of a slug as buzz does: at most 16 candidates.
func (b *buzz) head(agent, owner relaytest.Key, slug string) []nostr.Event {
	b.t.Helper()
	me, other := agent, owner.Pub
	if b.key == owner {
		me, other = owner, agent.Pub
	}
	return b.events(fmt.Sprintf(`[{"#d":["%s"],"#p":["%s"],"authors":["%s"],"kinds":[30174],"limit":16}]`,
		relaytest.Address(me, other, slug), owner.Pub, agent.Pub))
}

func (b *buzz) events(filters string) []nostr.Event {
	b.t.Helper()
	resp := b.post("/query", filters)
	var events []nostr.Event
	if err := json.Unmarshal(resp.Body, &events); resp.Status != 200 || err != nil {
		b.t.Fatalf("/query: %d %s, %v", resp.Status, resp.Body, err)
	}
	return events
}

// submit returns what buzz makes of an answer: "written", "conflict", or the
// relay's error.
func (b *buzz) submit(ev *nostr.Event) string {
	b.t.Helper()
	body, err := json.Marshal(ev)
	if err != nil {
		b.t.Fatal(err)
	}
	resp := b.post("/events", string(body))
	var answer struct {
		EventID  string `json:"event_id"`
		Accepted bool
		Message  string
		Error    string
	}
	if err := json.Unmarshal(resp.Body, &answer); err != nil {
		b.t.Fatalf("/events: %d %s, %v", resp.Status, resp.Body, err)
	}
	switch {
	case resp.Status != 200:
		return fmt.Sprint(resp.Status, " ", answer.Error)
	case !answer.Accepted || answer.EventID != ev.ID:
		return "not accepted: " + string(resp.Body)
	case strings.HasPrefix(answer.Message, "duplicate:"):
		return "conflict"
	}
	return "written" + answer.Message
}

// TestBuzzMem makes the calls of `buzz mem set, get, ls` and rm, as agent and
// as owner, with its conflicts and errors.
func TestBuzzMem(t *testing.T) {
	relay := rig.Start(t)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	calls := rig.NewCaller(t, relay)
	as := func(k relaytest.Key) *buzz { return &buzz{Caller: calls, t: t, key: k, url: relay.HTTP("")} }
	mine, theirs, stranger := as(agent), as(owner), as(relaytest.Stranger())
	base := rig.Now() - 100
	if got := mine.head(agent, owner, "core"); len(got) != 0 {
		t.Errorf("before anything was written: %d events", len(got))
	}
	core := relaytest.Memory(agent, owner.Pub, "core", "I am", base)
	memory := relaytest.Memory(agent, owner.Pub, "mem/one", "cedar", base)
	next := relaytest.Memory(agent, owner.Pub, "mem/one", "elm", base+2)
	late := relaytest.Memory(agent, owner.Pub, "mem/one", "written elsewhere, earlier", base+1)
	for _, step := range []struct {
		ev   *nostr.Event
		want string
	}{
		{core, "written"}, {memory, "written"}, {next, "written"}, {late, "conflict"}, {next, "conflict"}, {memory, "conflict"},
		{relaytest.Engram(agent, owner.Pub, "mem/two", nil, base), "written"}, // a tombstone
	} {
		if got := mine.submit(step.ev); got != step.want {
			t.Errorf("set: %s, want %s", got, step.want)
		}
	}
	for _, who := range []*buzz{mine, theirs} {
		got := who.head(agent, owner, "mem/one")
		if len(got) != 1 || got[0].ID != next.ID {
			t.Fatalf("get: %v", got)
		}
		if ok, err := got[0].CheckSignature(); !ok || err != nil {
			t.Errorf("the head does not verify: %v", err)
		}
		list := who.events(fmt.Sprintf(`[{"#p":["%s"],"authors":["%s"],"kinds":[30174],"limit":5000}]`, owner.Pub, agent.Pub))
		if len(list) != 3 {
			t.Errorf("ls: %d events, want 3", len(list))
		}
	}
	// buzz tells errors apart by their status.
	resp := stranger.post("/query", fmt.Sprintf(`[{"#p":["%s"],"authors":["%s"],"kinds":[30174],"limit":5000}]`, owner.Pub, agent.Pub))
	if resp.Status != 403 || !strings.Contains(string(resp.Body), `{"error":"restricted: `) {
		t.Errorf("a stranger: %d %s", resp.Status, resp.Body)
	}
	mine.url = "https://another.example"
	if resp := mine.post("/query", `[{"kinds":[1]}]`); resp.Status != 401 || !strings.Contains(string(resp.Body), `{"error":"auth-required: `) {
		t.Errorf("signed for another relay: %d %s", resp.Status, resp.Body)
	}
}

// TestHTTP_NamesOfALoopbackRelay: all names of this machine are the same relay,
// and the Host header does not matter.
func TestHTTP_NamesOfALoopbackRelay(t *testing.T) {
	relay := rig.Start(t)
	calls := rig.NewCaller(t, relay)
	body := []byte(`[{"kinds":[1]}]`)
	port := relay.URL[strings.LastIndexByte(relay.URL, ':'):]
	for url, want := range map[string]int{
		"http://127.0.0.1" + port: 200, "http://localhost" + port: 200, "http://LOCALHOST" + port: 200, "http://[::1]" + port: 200,
		"http://127.1.2.3" + port: 200, "https://127.0.0.1" + port: 401, "http://relay.example" + port: 401, "http://127.0.0.1": 401,
	} {
		header := http.Header{
			"Authorization":    {relaytest.HTTPAuth(rig.GateStranger, "POST", url+"/query", body, rig.Now())},
			"X-Forwarded-Host": {strings.TrimPrefix(url, "http://")},
		}
		if resp, err := calls.MustSend("POST", "/query", body, header); err != nil || resp.Status != want {
			t.Errorf("signed for %s: %d %s, %v, want %d", url, resp.Status, resp.Body, err, want)
		}
	}
}

// TestHTTP_PublicURL: behind a proxy the signature is for the public name and
// path, whatever the proxy does to Host and path.
func TestHTTP_PublicURL(t *testing.T) {
	relay := rig.Start(t, "ENGRAMD_PUBLIC_URL=wss://relay.example/agents")
	calls := rig.NewCaller(t, relay)
	body := []byte(`[{"kinds":[1]}]`)
	for _, path := range []string{"/query", "/agents/query"} {
		for url, want := range map[string]int{
			"https://relay.example/agents/query": 200, "https://relay.example:443/agents/query/": 200,
			"https://relay.example/query": 401, "https://evil.example/agents/query": 401,
		} {
			header := http.Header{"Authorization": {relaytest.HTTPAuth(rig.GateStranger, "POST", url, body, rig.Now())}}
			if resp, err := calls.MustSend("POST", path, body, header); err != nil || resp.Status != want {
				t.Errorf("%s signed for %s: %d %s, %v, want %d", path, url, resp.Status, resp.Body, err, want)
			}
		}
	}
}

// TestSession_LargestHTTPAnswer: an answer has 5,000 engrams of the largest
// size, within the memory of a few pages. There are 300 here, and 5,000 in make
// soak (ENGRAMD_SOAK=1): 440 MB.
func TestSession_LargestHTTPAnswer(t *testing.T) {
	count := 300
	if rig.Soak() {
		count = 5000
	}
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain})
	calls := rig.NewCaller(t, relay)
	base := rig.Now() - 100_000
	for i := range count {
		ev := relaytest.SizedEngram(agent, owner.Pub, fmt.Sprintf("%064x", i+1), 65_535, base+int64(i))
		body, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := calls.Signed(&agent, "POST", "/events", body); err != nil || resp.Status != 200 {
			t.Fatalf("an engram of the largest body: %d %s, %v", resp.Status, resp.Body, err)
		}
	}
	memory := relay.WatchMemory()
	filter := []byte(fmt.Sprintf(`[{"kinds":[30174],"#p":["%s"],"limit":%d}]`, owner.Pub, min(count, 5000)-1))
	resp, err := calls.Signed(&owner, "POST", "/query", filter)
	if err != nil || resp.Aborted || resp.Header.Get("Engramd-Truncated") != "true" {
		t.Fatalf("%d, aborted %v, %v, %v", resp.Status, resp.Aborted, err, resp.Header)
	}
	var events []struct{ ID string }
	if err := json.Unmarshal(resp.Body, &events); err != nil || len(events) != count-1 {
		t.Errorf("%d of %d engrams of the largest size, %v", len(events), count-1, err)
	}
	peak, err := memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d engrams of the largest size, %d MB, peak memory %d MiB", count, len(resp.Body)/1_000_000, peak>>20)
	if peak > 150<<20 {
		t.Errorf("the daemon has used %d MiB to answer one request", peak>>20)
	}
}
