package relayhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

// TestEvents: what becomes of an event, and the status that says so.
func TestEvents(t *testing.T) {
	w := newWorld(t)
	d := nostr.Tag{"d", strings.Repeat("ab", 32)}
	engram := func(created int64, seed string) *nostr.Event {
		return agent.Sign(30174, created, storetest.Payload(seed), d, nostr.Tag{"p", owner.Pub})
	}
	first, second, old := engram(-50, "first"), engram(-40, "second"), engram(-60, "old")
	note := agent.Sign(1, -30, "by another signer")
	protected := agent.Sign(1, -20, "mine alone", nostr.Tag{"-"})
	gone := agent.Sign(1, -25, "gone")
	forged := agent.Sign(1, -10, "forged")
	forged.Content = "changed"
	const duplicate, newer = "duplicate: already have this event", "duplicate: a newer version is stored"
	for _, tt := range []struct {
		name    string
		by      storetest.Key
		body    string
		status  int
		message string // of an accepted event, or the start of the error
	}{
		{"new", agent, text(first), 200, ""},
		{"the same again", agent, text(first), 200, duplicate},
		{"a newer version", agent, text(second), 200, ""},
		{"what it superseded", agent, text(first), 200, duplicate},
		{"an older version", agent, text(old), 200, newer},
		{"delivered by another", stranger, text(note), 200, ""},
		{"ephemeral", agent, text(agent.Sign(20001, 0, "typing")), 200, ""},
		{"unknown members", agent, `{"relay":"x",` + text(note)[1:], 200, duplicate},
		{"protected, by another", stranger, text(protected), 403, "restricted: the event is protected"},
		{"protected, by its author", agent, text(protected), 200, ""},
		{"to be deleted", agent, text(gone), 200, ""},
		{"its deletion", agent, text(agent.Sign(5, -5, "", nostr.Tag{"e", gone.ID})), 200, ""},
		{"deleted before", agent, text(gone), 403, "blocked: deleted by its author"},
		{"nothing", agent, "", 400, "invalid: "},
		{"not JSON", agent, "hello", 400, "invalid: "},
		{"an array", agent, "[" + text(note) + "]", 400, "invalid: an event must be a JSON object"},
		{"two events", agent, text(note) + text(note), 400, "invalid: trailing data"},
		{"a frame", agent, `["EVENT",` + text(note) + `]`, 400, "invalid: "},
		{"a member twice", agent, `{"kind":1,` + text(note)[1:], 400, `invalid: duplicate member "kind"`},
		{"changed after signing", agent, text(forged), 400, "invalid: event id does not match"},
		{"a bad signature", agent, strings.Replace(text(note), `"sig":"`+note.Sig[:4], `"sig":"0000`, 1), 400, "invalid: signature"},
		{"kind 27235", agent, text(agent.Sign(27235, 0, "")), 400, "invalid: kind 27235"},
		{"expired", agent, text(agent.Sign(1, 0, "", nostr.Tag{"expiration", "1600000000"})), 400, "invalid: the event has expired"},
		{"from the future", agent, text(agent.Sign(1, 10_000, "")), 400, "invalid: created_at"},
		{"a malformed engram", agent, text(agent.Sign(30174, 0, "plain", d, nostr.Tag{"p", owner.Pub})), 400, "invalid: "},
	} {
		rec := w.ask(tt.by, "POST", "/events", tt.body)
		if tt.status != 200 {
			wantProblem(t, tt.name, rec, tt.status, tt.message)
			continue
		}
		var got map[string]any
		var ev struct{ ID string }
		if err := errors.Join(json.Unmarshal(rec.Body.Bytes(), &got), json.Unmarshal([]byte(tt.body), &ev)); err != nil {
			t.Fatalf("%s: %d %s, %v", tt.name, rec.Code, rec.Body, err)
		}
		if rec.Code != 200 || len(got) != 3 || got["event_id"] != ev.ID || got["accepted"] != true || got["message"] != tt.message {
			t.Errorf("%s: %d %s, want accepted with %q", tt.name, rec.Code, rec.Body, tt.message)
		}
		if rec.Header().Get("Content-Type") != "application/json" || rec.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: header %v", tt.name, rec.Header())
		}
	}
	wantIDs(t, "what is there", w.ask(agent, "POST", "/query", `[{"kinds":[30174],"authors":["`+agent.Pub+`"]}]`), second)
}

// TestEventsWithABase: the condition stands in the signed URL, is for the
// event's author alone, and is repeated in the answer.
func TestEventsWithABase(t *testing.T) {
	w := newWorld(t)
	d := nostr.Tag{"d", strings.Repeat("cd", 32)}
	engram := func(created int64) *nostr.Event {
		return agent.Sign(30174, created, storetest.Payload(fmt.Sprint(created)), d, nostr.Tag{"p", owner.Pub})
	}
	first, second, third := engram(-50), engram(-40), engram(-30)
	const conflict = "conflict: another version is the head"
	for _, tt := range []struct {
		name   string
		by     storetest.Key
		query  string
		ev     *nostr.Event
		status int
		text   string // of an error
	}{
		{"for a head that is not there", agent, "?base=" + first.ID, second, 409, conflict},
		{"for none", agent, "?base=", first, 200, ""},
		{"again", agent, "?base=", first, 200, ""},
		{"for none, and there is one", agent, "?base=", second, 409, conflict},
		{"by another than the author", stranger, "?base=" + first.ID, second, 403, "restricted: only its author"},
		{"for the head", agent, "?base=" + first.ID, second, 200, ""},
		{"for what was the head", agent, "?base=" + first.ID, third, 409, conflict},
		{"not an id", agent, "?base=abc", third, 400, "invalid: base"},
		{"in upper case", agent, "?base=" + strings.ToUpper(second.ID), third, 400, "invalid: base"},
		{"too long", agent, "?base=" + second.ID + "00", third, 400, "invalid: base"},
		{"twice", agent, "?base=&base=", third, 400, "invalid: the query string"},
		{"something else", agent, "?bas=" + second.ID, third, 400, "invalid: the query string"},
		{"a kind without heads", agent, "?base=", agent.Sign(1, -10, "note"), 400, "invalid: base goes with"},
	} {
		rec := w.ask(tt.by, "POST", "/events"+tt.query, text(tt.ev))
		if tt.status != 200 {
			wantProblem(t, tt.name, rec, tt.status, tt.text)
			continue
		}
		var got eventAnswer
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 || got.Base == nil || "?base="+*got.Base != tt.query {
			t.Errorf("%s: %d %s %v, want the base again", tt.name, rec.Code, rec.Body, err)
		}
	}
	wantIDs(t, "what is there", w.ask(agent, "POST", "/query", `[{"kinds":[30174],"authors":["`+agent.Pub+`"]}]`), second)
}

// TestQueryAndCount: the gate, the filters, the order.
func TestQueryAndCount(t *testing.T) {
	w := newWorld(t)
	mine, other := agent.Engram(owner, 3, "mem/a"), stranger.Engram(owner, 4, "mem/a")
	one, two := agent.Note(1, "one"), stranger.Note(2, "two")
	w.put(mine, other, one, two)
	notes := `{"kinds":[1]}`
	engrams := func(k storetest.Key) string { return `{"kinds":[30174],"authors":["` + k.Pub + `"]}` }
	for _, tt := range []struct {
		name, body string
		by         storetest.Key
		want       []*nostr.Event
		count      int
	}{
		{"notes", "[" + notes + "]", stranger, []*nostr.Event{two, one}, 2},
		{"one's own", "[" + engrams(agent) + "]", agent, []*nostr.Event{mine}, 1},
		{"the owner's", `[{"kinds":[30174],"#p":["` + owner.Pub + `"]}]`, owner, []*nostr.Event{other, mine}, 2},
		{"several, each once", "[" + engrams(agent) + "," + notes + `,{"ids":["` + one.ID + `","` + mine.ID + `"]}]`, agent, []*nostr.Event{mine, two, one}, 3},
		{"a limit", `[{"kinds":[1],"limit":1}]`, agent, []*nostr.Event{two}, 2},
		{"limit 0", `[{"kinds":[1],"limit":0}]`, agent, nil, 2},
		{"nothing", `[{"kinds":[7]}]`, agent, nil, 0},
		{"an empty list", `[{"kinds":[]}]`, agent, nil, 0},
	} {
		wantIDs(t, tt.name, w.ask(tt.by, "POST", "/query", tt.body), tt.want...)
		rec := w.ask(tt.by, "POST", "/count", tt.body)
		if want := fmt.Sprintf("{\"count\":%d}\n", tt.count); rec.Code != 200 || rec.Body.String() != want || rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: /count %d %s, want %s", tt.name, rec.Code, rec.Body, want)
		}
	}
	many := strings.TrimSuffix(strings.Repeat(notes+",", 17), ",")
	for _, tt := range []struct {
		name, body, text string
		status           int
	}{
		{"another's engrams", "[" + engrams(agent) + "]", "restricted: a filter for kind 30174", 403},
		{"one refused of two", "[" + notes + "," + engrams(agent) + "]", "restricted: ", 403},
		{"no kinds", `[{}]`, "restricted: a filter without kinds", 403},
		{"nothing", "", "invalid: ", 400},
		{"no filter", "[]", "invalid: the array holds no filter", 400},
		{"one filter, no array", notes, "invalid: the body must be a JSON array", 400},
		{"a REQ", `["REQ","x",` + notes + "]", "invalid: ", 400},
		{"a misspelt key", `[{"kind":[1]}]`, `invalid: filter key "kind"`, 400},
		{"null", `[{"kinds":null}]`, "invalid: ", 400},
		{"trailing data", "[" + notes + "]]", "invalid: trailing", 400},
		{"too many filters", "[" + many + "]", "invalid: too many filters (at most 16)", 400},
		{"too many values", `[{"kinds":[` + strings.TrimSuffix(strings.Repeat("1,", 2001), ",") + `]}]`, "invalid: ", 400},
	} {
		for _, path := range []string{"/query", "/count"} {
			wantProblem(t, path+": "+tt.name, w.ask(stranger, "POST", path, tt.body), tt.status, tt.text)
		}
	}
}

// TestSearch over /query: best matches first, and nothing gated.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	if !w.store.SearchEnabled() {
		wantProblem(t, "without FTS5", w.ask(agent, "POST", "/query", `[{"kinds":[1],"search":"cedar"}]`), 400, "invalid: this relay was built without search")
		return
	}
	hit := agent.Note(1, "a cedar")
	w.put(hit, agent.Note(2, "an elm"), agent.Entry(owner, 3, "job", "cedar"))
	wantIDs(t, "search", w.ask(stranger, "POST", "/query", `[{"kinds":[1],"search":"cedar"}]`), hit)
	wantProblem(t, "search in what is gated", w.ask(stranger, "POST", "/query", `[{"kinds":[1,30090],"search":"cedar"}]`), 403, "restricted: ")
}

// TestMethodsAndPreflight: only one method each, and browsers may ask.
func TestMethodsAndPreflight(t *testing.T) {
	w := newWorld(t)
	for path, method := range map[string]string{"/events": "POST", "/query": "POST", "/count": "POST", "/history": "GET"} {
		for _, other := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "QUERY"} {
			if other == method {
				continue
			}
			rec := w.do(other, path, nil)
			wantProblem(t, other+" "+path, rec, 405, "invalid: this path is asked with "+method)
			if rec.Header().Get("Allow") != method+", OPTIONS" {
				t.Errorf("%s %s: Allow %q", other, path, rec.Header().Get("Allow"))
			}
		}
		for _, at := range []string{path, "/nostr" + path} {
			rec := w.do("OPTIONS", at, nil, "Origin", "https://app.example", "Access-Control-Request-Method", method,
				"Access-Control-Request-Headers", "authorization,content-type")
			hdr := rec.Header()
			if rec.Code != 204 || rec.Body.Len() > 0 || hdr.Get("Access-Control-Allow-Origin") != "*" || hdr.Get("Access-Control-Max-Age") == "" ||
				!strings.Contains(hdr.Get("Access-Control-Allow-Methods"), method) || hdr.Get("Access-Control-Allow-Credentials") != "" ||
				!strings.Contains(hdr.Get("Access-Control-Allow-Headers"), "Authorization, Content-Type, X-Auth-Tag, Engramd-Session") {
				t.Errorf("preflight of %s: %d %v", at, rec.Code, hdr)
			}
		}
		if rec := w.do(method, path, nil); !strings.Contains(rec.Header().Get("Access-Control-Expose-Headers"), truncated) {
			t.Errorf("%s: scripts cannot read %s", path, truncated)
		}
	}
}

// TestBodyLimit: 1 MiB and not a byte more, announced or not, and an event no
// larger than a message.
func TestBodyLimit(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Limits.EventBytes = 4096 })
	filter := func(size int) string { return anything + strings.Repeat(" ", size-len(anything)) }
	wantIDs(t, "the largest body", w.ask(agent, "POST", "/query", filter(maxBody)))
	wantProblem(t, "a byte more", w.ask(agent, "POST", "/query", filter(maxBody+1)), 413, "invalid: at most 1048576 bytes")
	wantProblem(t, "a byte more, unsigned", w.do("POST", "/query", []byte(filter(maxBody+1))), 413, "invalid: at most 1048576 bytes")
	addr := serve(t, w.Handler)
	body := strings.NewReader(filter(maxBody + 1))
	req, err := http.NewRequest("POST", "http://"+addr+"/query", struct{ *strings.Reader }{body}) // of unknown length
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", w.sign(agent, "POST", "/query", []byte(filter(maxBody+1))))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(resp); resp.StatusCode != 413 || err != nil || !strings.Contains(got, "invalid: at most 1048576 bytes") {
		t.Errorf("of unknown length: %d %s, %v", resp.StatusCode, got, err)
	}
	fits, large := agent.Sign(1, 0, strings.Repeat("x", 3700)), agent.Sign(1, 0, strings.Repeat("x", 4096))
	if rec := w.ask(agent, "POST", "/events", text(fits)); rec.Code != 200 {
		t.Errorf("%d bytes: %d %s", len(text(fits)), rec.Code, rec.Body)
	}
	wantProblem(t, "an event over the size of a message", w.ask(agent, "POST", "/events", text(large)), 413, "invalid: at most 4096 bytes")
}

// failing is a backend that answers one error to everything.
type failing struct {
	Backend
	err     error
	refuses bool
	panics  bool
	answer  relay.Answer
	reached int
}

func (f *failing) RejectsConnection(*http.Request) bool { return f.refuses }
func (f *failing) Submit(context.Context, relay.Submission) relay.Answer {
	f.reached++
	if f.panics {
		panic("a fault of ours")
	}
	return f.answer
}
func (f *failing) Count(context.Context, []relay.Granted) (int64, error) { return 0, f.err }
func (f *failing) Stored([]relay.Granted) Rows                           { return f }
func (f *failing) Next(context.Context, int, int) ([]store.Row, bool, error) {
	return nil, false, f.err
}
func (f *failing) More() bool               { return false }
func (f *failing) Damaged() []store.Damaged { return nil }
func (f *failing) History(context.Context, relay.HistoryQuery) (Rows, error) {
	return f, nil
}
func (f *failing) Authorize(context.Context, gate.Surface, []nostr.Filter) ([]relay.Granted, error) {
	return nil, nil
}

// TestFailuresAreNoEmptyAnswers: a store that fails is 503, never [] or 0.
func TestFailuresAreNoEmptyAnswers(t *testing.T) {
	for _, err := range []error{errors.New("disk I/O error: /var/lib/secret"), store.ErrTimeout, store.ErrClosed} {
		w := newWorld(t, func(o *Options) { o.Backend = &failing{err: err} })
		for _, ask := range [][2]string{{"POST", "/query"}, {"POST", "/count"}, {"GET", "/history?kind=1&author=" + agent.Pub}} {
			body := anything
			if ask[0] == "GET" {
				body = ""
			}
			rec := w.ask(agent, ask[0], ask[1], body)
			wantProblem(t, ask[1], rec, 503, "error: ")
			if strings.Contains(rec.Body.String(), "secret") {
				t.Errorf("%s tells the store's own words: %s", ask[1], rec.Body)
			}
		}
	}
}

// TestStatusOfEveryPrefix: what a policy may say of an event.
func TestStatusOfEveryPrefix(t *testing.T) {
	f := &failing{}
	w := newWorld(t, func(o *Options) { o.Backend = f })
	body := text(agent.Sign(1, 0, "x"))
	for message, status := range map[string]int{
		"invalid: x": 400, "pow: 20 bits": 400, "auth-required: x": 401, "restricted: x": 403, "blocked: x": 403,
		"rate-limited: slow down": 429, "error: x": 503, "mute: x": 403,
	} {
		f.answer = relay.Answer{Why: nip01.Parse(message)}
		rec := w.ask(agent, "POST", "/events", body)
		wantProblem(t, message, rec, status, message)
		if (rec.Header().Get("Retry-After") != "") != (status == 429) {
			t.Errorf("%s: Retry-After %q", message, rec.Header().Get("Retry-After"))
		}
	}
	f.refuses, f.reached = true, 0
	wantProblem(t, "a RejectConnection hook", w.ask(agent, "POST", "/events", body), 403, "blocked: ")
	f.refuses, f.panics = false, true
	wantProblem(t, "a panic", w.ask(agent, "POST", "/events", body), 503, "error: ")
	w.Drain()
	wantProblem(t, "shutting down", w.ask(agent, "POST", "/events", body), 503, "error: the relay is shutting down")
	if f.reached != 1 {
		t.Errorf("the relay was asked %d times, want once", f.reached)
	}
}

// TestHooksAndMetrics: the operator's hooks are asked for every surface, and
// the gate's decisions are counted by it.
func TestHooksAndMetrics(t *testing.T) {
	w := newWorld(t)
	asked := map[string]int{}
	reject := func(name string) func(context.Context, nostr.Filter) (bool, string) {
		return func(ctx context.Context, f nostr.Filter) (bool, string) {
			asked[name]++
			if !relay.ReaderFrom(ctx).Has(agent.Pub) {
				t.Errorf("%s hook does not know who asks", name)
			}
			return slices.Contains(f.Kinds, 7), "mute: no reactions here"
		}
	}
	w.relay.Hooks.RejectFilter = append(w.relay.Hooks.RejectFilter, reject("filter"))
	w.relay.Hooks.RejectCountFilter = append(w.relay.Hooks.RejectCountFilter, reject("count"))
	wantProblem(t, "query", w.ask(agent, "POST", "/query", `[{"kinds":[7]}]`), 403, "mute: no reactions here")
	wantProblem(t, "count", w.ask(agent, "POST", "/count", `[{"kinds":[7]}]`), 403, "mute: ")
	wantProblem(t, "history", w.ask(agent, "GET", "/history?kind=7&author="+agent.Pub, ""), 403, "mute: ")
	if asked["filter"] != 2 || asked["count"] != 1 {
		t.Errorf("hooks were asked %v", asked)
	}
	w.do("POST", "/query", nil)
	w.ask(agent, "POST", "/query", `[{"kinds":[30174]}]`)
	w.ask(agent, "POST", "/count", `[{"kinds":[30174],"authors":["`+agent.Pub+`"]},{}]`)
	w.ask(agent, "GET", "/history?kind=30090&author="+agent.Pub, "")
	w.ask(agent, "POST", "/events", text(agent.Sign(1, 0, "x")))
	body := get(w.meter.Handler(false), "GET", "/metrics").Body.String()
	for _, want := range []string{
		`{endpoint="query",status="4xx"} 3`, `{endpoint="count",status="4xx"} 2`, `{endpoint="history",status="4xx"} 1`,
		`{endpoint="history",status="2xx"} 1`, `{endpoint="events",status="2xx"} 1`,
		`{decision="restricted",rule="engram",surface="query"} 1`, `{decision="granted",rule="engram",surface="http_count"} 1`,
		`{decision="restricted",rule="wildcard",surface="http_count"} 1`, `{decision="granted",rule="contract",surface="history"} 1`,
		`engramd_events_total{class="open",outcome="stored"} 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}
