package api_test

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/api"
	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/contracts/outbox"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/http"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

const publicURL = "wss://relay.example"

// world is the API with everything below it: a real service, relay and store.
// Its clock stands at storetest.Start until it is moved.
type world struct {
	terms    nostr.Tags // of opens and acceptances, beside what they must have
	t        testing.TB
	clock    *storetest.Clock
	relay    *relay.Relay
	store    *sqlite.Store
	service  *contracts.Service
	meter    *metrics.Metrics
	log      *bytes.Buffer
	handler  http.Handler
	operator storetest.Key
	nonce    int
}

type settings struct {
	gate   gate.Options
	store  sqlite.Options // Path is taken, when it is given
	latest func(context.Context) error
}

func newWorld(t testing.TB, change ...func(*settings)) *world {
	t.Helper()
	var set settings
	for _, c := range change {
		c(&set)
	}
	w := &world{t: t, clock: storetest.NewClock(), meter: metrics.New("test"), log: new(bytes.Buffer), operator: storetest.NewKey("operator")}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	names, err := relay.NewNames([]string{publicURL}, netip.MustParseAddrPort("0.0.0.0:7447"))
	must(t, err)
	table := storetest.MustTable(t, set.gate)
	w.relay, err = relay.New(relay.Config{Names: names, Clock: w.clock.Now, Metrics: w.meter.Relay, Log: log, Latest: set.latest}, table)
	must(t, err)
	t.Cleanup(w.relay.Close) // after the store
	w.store = storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit, o.Clock, o.Table, o.Log = w.relay.Committed, w.clock.Now, table, log
		if set.store.Path != "" {
			o.Path = set.store.Path
		}
	})
	writes, err := policy.New(policy.Options{Clock: w.clock.Now, Reader: relay.ReaderFrom, OwnName: names.Has})
	must(t, err)
	w.relay.Reject(writes.RejectEvent)
	must(t, w.relay.Attach(w.store))

	sealed, err := vault.New(bytes.Repeat([]byte{7, 8}, vault.KeySize/2), crand.Reader)
	must(t, err)
	known := identity.New(identity.Options{Store: w.store, Vault: sealed, Clock: w.clock.Now})
	box := outbox.New(outbox.Options{Store: w.store, Relay: w.relay, Clock: w.clock.Now, Log: log})
	must(t, box.Start(t.Context(), nil))
	w.service, err = contracts.New(contracts.Options{
		Store: w.store, Relay: w.relay, Table: w.relay.Table, Signer: known, Sealer: identity.Sealer{Vault: sealed},
		Identities: known, Outbox: box, RelayKeys: storetest.Signer{Key: storetest.NewKey("relay")}, Clock: w.clock.Now, Log: log,
	})
	must(t, err)
	t.Cleanup(box.Close)
	used, err := api.OpenUsed(t.Context(), w.store, time.Minute, w.clock.Now)
	must(t, err)
	w.handler = relayhttp.New(relayhttp.Options{
		Relay: w.relay, Socket: http.NotFoundHandler(), URLs: []string{publicURL}, Backend: relayhttp.Over(w.relay),
		Names: names, Clock: w.clock.Now, Metrics: w.meter, Log: log,
		API: api.New(api.Options{
			Service: w.service, Identities: known, Used: used,
			Operator: func(key string) bool { return key == w.operator.Pub }, Version: "test", URL: "https://relay.example",
		}),
	})
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// agent is a caller: nobody, one with a key of its own, or one with a token.
type agent struct {
	name  string
	key   storetest.Key // Secret is "" for a provisioned one
	token string
}

// held returns an agent with its own key and no name.
func held(name string) *agent { return &agent{name: name, key: storetest.NewKey(name)} }

// id returns the agent's id.
func (a *agent) id(w *world) string {
	rec := w.do(nil, "GET", "/api/identities/"+a.key.Pub, nil)
	if rec.Code == http.StatusOK {
		return decode[contracts.Identity](w.t, rec).AgentID
	}
	return a.key.Pub
}

// called returns the agent id of a test's agent, because the word for a role is
// no valid name.
func called(name string) string {
	if identity.CheckName(name) != nil {
		name += "-1"
	}
	return name
}

// provision makes an agent whose key the relay holds.
func (w *world) provision(name string) *agent {
	w.t.Helper()
	op := &agent{name: "operator", key: w.operator}
	got := decode[contracts.Provisioned](w.t, w.want(http.StatusCreated, op, "POST", "/api/identities", map[string]any{"agent_id": called(name)}))
	return &agent{name: name, key: storetest.Key{Pub: got.PubKey}, token: got.Token}
}

// bind makes an agent with his own key and this name.
func (w *world) bind(name string) *agent {
	w.t.Helper()
	a := held(name)
	w.want(http.StatusCreated, a, "POST", "/api/identities", map[string]any{"agent_id": called(name), "pubkey": a.key.Pub})
	return a
}

// proof is the Authorization header of a request by a; "" for nobody.
func (w *world) proof(a *agent, method, path string, body []byte, change ...func(*nostr.Event)) string {
	switch {
	case a == nil:
		return ""
	case a.token != "":
		return "Bearer " + a.token
	}
	w.nonce++
	ev := &nostr.Event{Kind: 27235, CreatedAt: nostr.Timestamp(w.clock.Now().Unix()), Tags: nostr.Tags{
		{"u", "https://relay.example" + path}, {"method", method}, {"nonce", fmt.Sprint(w.nonce)},
	}}
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		ev.Tags = append(ev.Tags, nostr.Tag{"payload", hex.EncodeToString(sum[:])})
	}
	for _, c := range change {
		c(ev)
	}
	if ev.Sig == "" {
		must(w.t, ev.Sign(a.key.Secret))
	}
	return "Nostr " + base64.StdEncoding.EncodeToString(wire.AppendEvent(nil, ev))
}

// do sends a request; body is marshalled unless it is bytes.
func (w *world) do(a *agent, method, path string, body any, change ...func(*nostr.Event)) *httptest.ResponseRecorder {
	w.t.Helper()
	raw, ok := body.([]byte)
	if !ok && body != nil {
		var err error
		raw, err = json.Marshal(body)
		must(w.t, err)
	}
	return w.send(method, path, raw, w.proof(a, method, path, raw, change...))
}

// send sends a request with this Authorization header, "" for none.
func (w *world) send(method, path string, body []byte, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://whatever.example"+path, bytes.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1" // no bound of requests at once
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

// want sends a request and wants a status.
func (w *world) want(status int, a *agent, method, path string, body any) *httptest.ResponseRecorder {
	w.t.Helper()
	rec := w.do(a, method, path, body)
	if rec.Code != status {
		w.t.Fatalf("%s %s: %d %s, want %d", method, path, rec.Code, rec.Body, status)
	}
	return rec
}

func decode[T any](t testing.TB, rec *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		t.Fatalf("%d %s: %v", rec.Code, rec.Body, err)
	}
	return v
}

// uuid returns a random UUID.
func uuid() string {
	b := make([]byte, 16)
	for i := range b {
		b[i] = byte(rand.IntN(256))
	}
	b[6], b[8] = b[6]&15|64, b[8]&63|128
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func entryID() string {
	return fmt.Sprintf("mem_%012x", rand.Uint64()>>16)
}

// stateEvent is a signed kind 30091, a second after the clock at most.
func (w *world) stateEvent(a *agent, to, id, was, status, description string, amount int64) json.RawMessage {
	content, err := json.Marshal(map[string]any{
		"contract_id": id, "status": status, "previous_status": was, "poster_agent_id": "", "worker_agent_id": nil,
		"amount_sats": amount, "description": description, "transition_at": w.clock.Now().UTC().Format(time.RFC3339),
	})
	must(w.t, err)
	tags := nostr.Tags{{"d", id}, {"p", to}}
	if status == "open" || status == "accepted" {
		tags = append(tags, w.terms...)
	}
	return w.signed(a, 30091, string(content), tags...)
}

// decisionEvent is a signed kind 30091 by a key that is no party.
func (w *world) decisionEvent(a *agent, poster, worker, id, status string) json.RawMessage {
	content, err := json.Marshal(map[string]any{"contract_id": id, "status": status, "previous_status": "disputed"})
	must(w.t, err)
	return w.signed(a, 30091, string(content), nostr.Tag{"d", id}, nostr.Tag{"p", poster}, nostr.Tag{"p", worker})
}

func (w *world) entryEvent(a *agent, to, id, entry, typ, text string) json.RawMessage {
	content, err := json.Marshal(map[string]any{"type": typ, "content": text})
	must(w.t, err)
	return w.signed(a, 30090, string(content), nostr.Tag{"d", id}, nostr.Tag{"t", typ}, nostr.Tag{"p", to},
		nostr.Tag{"agentry:contract", id}, nostr.Tag{"agentry:entry", entry})
}

// signed makes an event by a's own key at the clock's time, which then moves on
// by a second, because two writes within one second have no order.
func (w *world) signed(a *agent, kind int, content string, tags ...nostr.Tag) json.RawMessage {
	w.clock.Add(time.Second)
	ev := &nostr.Event{Kind: kind, CreatedAt: nostr.Timestamp(w.clock.Now().Unix()), Content: content, Tags: tags}
	must(w.t, ev.Sign(a.key.Secret))
	return wire.AppendEvent(nil, ev)
}

// offer creates a contract between two agents.
func (w *world) offer(poster, worker *agent, more map[string]any) string {
	w.t.Helper()
	body := map[string]any{"description": "Produce a civic intelligence summary", "amount_sats": 5000}
	to := poster.key.Pub
	if worker != nil {
		to = worker.key.Pub
		body["worker_agent_id"] = worker.id(w)
	}
	for k, v := range more {
		body[k] = v
	}
	if poster.token == "" {
		body["event"] = w.stateEvent(poster, to, uuid(), "", "open", body["description"].(string), 5000)
	}
	return decode[contracts.Contract](w.t, w.want(http.StatusCreated, poster, "POST", "/api/escrow/contracts", body)).ContractID
}

// moveBody is the body of a transition by a to a counterparty.
func (w *world) moveBody(a *agent, to, id, was, status string) map[string]any {
	body := map[string]any{"status": status}
	if a != nil && a.key.Secret != "" {
		body["event"] = w.stateEvent(a, to, id, was, status, "Produce a civic intelligence summary", 5000)
	}
	return body
}

func (w *world) move(a, to *agent, id, was, status string) {
	w.t.Helper()
	w.want(http.StatusOK, a, "POST", "/api/escrow/contracts/"+id+"/transitions", w.moveBody(a, to.key.Pub, id, was, status))
	w.clock.Add(time.Second)
}

// sayBody is the body of an entry by a.
func (w *world) sayBody(a *agent, to, id, typ, visibility, text string) map[string]any {
	body := map[string]any{"type": typ, "visibility": visibility, "content": text}
	if a != nil && a.key.Secret != "" && visibility == "shared" {
		body["event"] = w.entryEvent(a, to, id, entryID(), typ, text)
	}
	return body
}

func (w *world) say(a, to *agent, id, typ, visibility, text string) contracts.Entry {
	w.t.Helper()
	body := w.sayBody(a, to.key.Pub, id, typ, visibility, text)
	body["author_agent_id"] = a.id(w)
	rec := w.want(http.StatusCreated, a, "POST", "/api/escrow/contracts/"+id+"/memory", body)
	w.clock.Add(time.Second)
	return decode[contracts.Entry](w.t, rec)
}
