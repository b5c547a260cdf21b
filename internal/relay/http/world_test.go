package relayhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

var (
	agent    = storetest.NewKey("agent")
	owner    = storetest.NewKey("owner")
	stranger = storetest.NewKey("stranger")
)

// world is a handler over a real relay with a real store, asked in memory. Its
// clock stands at storetest.Start.
type world struct {
	*Handler
	t     *testing.T
	relay *relay.Relay
	store *sqlite.Store
	path  string // of its file
	clock *storetest.Clock
	meter *metrics.Metrics // of the relay and the handler
	url   string           // what signatures are for
}

const publicURL = "wss://relay.example/nostr"

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, clock: storetest.NewClock(), meter: metrics.New("test"), url: "https://relay.example/nostr"}
	names, err := relay.NewNames([]string{publicURL}, netip.MustParseAddrPort("0.0.0.0:7447"))
	if err != nil {
		t.Fatal(err)
	}
	table := storetest.MustTable(t, gate.Options{})
	if w.relay, err = relay.New(relay.Config{Names: names, Clock: w.clock.Now, Metrics: w.meter.Relay}, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.relay.Close) // after the store
	w.store = storetest.MustOpen(t, func(o *sqlite.Options) { o.OnCommit, o.Clock, w.path = w.relay.Committed, w.clock.Now, o.Path })
	writes, err := policy.New(policy.Options{Clock: w.clock.Now, Reader: relay.ReaderFrom, OwnName: names.Has})
	if err != nil {
		t.Fatal(err)
	}
	w.relay.Reject(writes.RejectEvent)
	if err := w.relay.Attach(w.store); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Relay: w.relay, Socket: http.HandlerFunc(socket), URLs: []string{publicURL},
		Backend: Over(w.relay), Names: names, Clock: w.clock.Now, Metrics: w.meter,
	}
	for _, c := range change {
		c(&o)
	}
	w.Handler = New(o)
	return w
}

// put stores events past the write policy.
func (w *world) put(events ...*nostr.Event) {
	w.t.Helper()
	for _, ev := range events {
		if res := w.store.Put(w.t.Context(), ev, store.PutOptions{}); !res.Outcome.OK() {
			w.t.Fatalf("kind %d: %v %v", ev.Kind, res.Outcome, res.Err)
		}
	}
}

// sign is the Authorization header of a request, as change has it.
func (w *world) sign(k storetest.Key, method, path string, body []byte, change ...func(*nostr.Event)) string {
	return authorization(k, w.clock.Now(), method, w.url+path, body, change...)
}

func authorization(k storetest.Key, at time.Time, method, url string, body []byte, change ...func(*nostr.Event)) string {
	ev := &nostr.Event{Kind: 27235, CreatedAt: nostr.Timestamp(at.Unix()), Tags: nostr.Tags{{"u", url}, {"method", method}}}
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		ev.Tags = append(ev.Tags, nostr.Tag{"payload", hex.EncodeToString(sum[:])})
	}
	for _, c := range change {
		c(ev)
	}
	if ev.Sig == "" {
		if err := ev.Sign(k.Secret); err != nil {
			panic(err)
		}
	}
	return encode(ev)
}

func encode(ev *nostr.Event) string {
	return "Nostr " + base64.StdEncoding.EncodeToString(wire.AppendEvent(nil, ev))
}

// do sends a request with these headers.
func (w *world) do(method, path string, body []byte, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+"whatever.example"+path, bytes.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// ask sends a signed request.
func (w *world) ask(k storetest.Key, method, path, body string) *httptest.ResponseRecorder {
	return w.do(method, path, []byte(body), "Authorization", w.sign(k, method, path, []byte(body)))
}

// wantProblem wants an error answer with this status and the start of its text.
func wantProblem(t *testing.T, what string, rec *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	var doc map[string]string
	err := json.Unmarshal(rec.Body.Bytes(), &doc)
	hdr := rec.Header()
	if rec.Code != status || err != nil || len(doc) != 1 || !strings.HasPrefix(doc["error"], text) {
		t.Errorf("%s: %d %s, want %d %s…", what, rec.Code, rec.Body, status, text)
	}
	if hdr.Get("Content-Type") != "application/json" || hdr.Get("Access-Control-Allow-Origin") != "*" || hdr.Get("Location") != "" || hdr.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: header %v", what, hdr)
	}
	if (rec.Code == 401) != (hdr.Get("WWW-Authenticate") == "Nostr") {
		t.Errorf("%s: %d with WWW-Authenticate %q", what, rec.Code, hdr.Get("WWW-Authenticate"))
	}
}

// wantIDs wants an array of these events.
func wantIDs(t *testing.T, what string, rec *httptest.ResponseRecorder, want ...*nostr.Event) {
	t.Helper()
	var got []nostr.Event
	if err := json.Unmarshal(rec.Body.Bytes(), &got); rec.Code != 200 || err != nil || got == nil {
		t.Errorf("%s: %d %.200s, %v", what, rec.Code, rec.Body, err)
		return
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d events, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if got[i].ID != want[i].ID || got[i].Sig != want[i].Sig || got[i].Content != want[i].Content {
			t.Errorf("%s: event %d is %s, want %s", what, i, got[i].ID, want[i].ID)
		}
	}
}

func text(ev *nostr.Event) string { return string(wire.AppendEvent(nil, ev)) }

// serve puts the handler on a real port, with the server of the daemon.
func serve(t *testing.T, h *Handler, change ...func(*http.Server)) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = NewServer(h, patience, h.log)
	for _, c := range change {
		c(srv.Config)
	}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// readAll reads an answer to its end, or to where it was cut off.
func readAll(resp *http.Response) (string, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// newRequest is a signed query from an address; it returns the status.
func newRequest(w *world, addr string) func() int {
	r := httptest.NewRequest("POST", "/query", strings.NewReader(anything))
	r.RemoteAddr = addr
	r.Header.Set("Authorization", w.sign(agent, "POST", "/query", []byte(anything)))
	return func() int {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		return rec.Code
	}
}

// working is how many requests have a place.
func (w *world) working() int {
	n := 0
	for _, s := range []*fairness.Slots{w.in.pools.managing, w.in.pools.proved, w.in.pools.unproved, w.in.pools.checking, w.in.pools.managers} {
		n += s.Used()
	}
	return n
}
