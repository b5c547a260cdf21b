package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// contractAgent acts over HTTP with its own key, or with a token for a key that
// the relay keeps.
type contractAgent struct {
	key   relaytest.Key // Secret is "" when the relay keeps it
	token string
}

// contractCalls makes calls of the contract memory API.
type contractCalls struct {
	*caller
	t *testing.T
	n int
}

// call sends a request and returns its status and answer.
func (c *contractCalls) call(a *contractAgent, method, path string, body any) (int, []byte) {
	c.t.Helper()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	header := http.Header{}
	switch {
	case a == nil:
	case a.token != "":
		header.Set("Authorization", "Bearer "+a.token)
	default:
		c.n++ // or two calls that are the same would be one
		header.Set("Authorization", relaytest.HTTPAuthWith(a.key, method, c.relay.HTTP(path), raw, now(), tag("nonce", fmt.Sprint(c.n))))
	}
	resp, err := c.send(method, path, raw, header)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.Status, resp.Body
}

// want makes a call, wants a status and reads the answer into v unless it is nil.
func (c *contractCalls) want(status int, a *contractAgent, method, path string, body, v any) {
	c.t.Helper()
	got, text := c.call(a, method, path, body)
	if got != status {
		c.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(text, v); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
}

// contractEntry is what these tests look at of an entry.
type contractEntry struct {
	ID      string  `json:"entry_id"`
	Type    string  `json:"type"`
	Content string  `json:"content"`
	Event   *string `json:"nostr_event_id"`
}

func (c *contractCalls) thread(a *contractAgent, id string) []contractEntry {
	c.t.Helper()
	var page struct{ Entries []contractEntry }
	c.want(http.StatusOK, a, http.MethodGet, contractsPath+"/"+id+"/memory", nil, &page)
	return page.Entries
}

// The steps of the published example, by the poster and by the worker in turn.
var exampleSteps = []struct{ typ, visibility, text string }{
	{"message", "shared", "Focus on government filings from the last 7 days"},
	{"message", "shared", "Understood"},
	{"note", "poster_only", "verify this against our archive before approving"},
	{"deliverable", "shared", "The summary"},
}

// wantExample compares what a contract tells with the published table.
func (c *contractCalls) wantExample(poster, worker, stranger *contractAgent, posterName, workerName, id string) {
	c.t.Helper()
	var s gateSummary
	c.want(http.StatusOK, poster, http.MethodGet, contractsPath+"/"+id+"/memory/summary", nil, &s)
	if s.Total != 4 || s.Published != 3 || !maps.Equal(s.ByType, map[string]int{"message": 2, "note": 1, "deliverable": 1}) ||
		!maps.Equal(s.ByAuthor, map[string]int{posterName: 2, workerName: 2}) ||
		!maps.Equal(s.ByVisibility, map[string]int{"shared": 3, "poster_only": 1}) {
		c.t.Errorf("the poster's summary: %+v", s)
	}
	for name, who := range map[string]*contractAgent{"worker": worker, "stranger": stranger, "nobody": nil} {
		thread := c.thread(who, id)
		texts := []string{}
		for _, e := range thread {
			texts = append(texts, e.Content)
			if e.Event == nil {
				c.t.Errorf("the %s sees an entry that is not published: %+v", name, e)
			}
		}
		if want := []string{exampleSteps[0].text, exampleSteps[1].text, exampleSteps[3].text}; !slices.Equal(texts, want) {
			c.t.Errorf("the %s reads %q", name, texts)
		}
	}
	relay := dial(c.t, c.relay)
	got := relay.query(relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{id}})
	heads := map[string]bool{}
	for _, ev := range got.Events {
		heads[ev.PubKey] = true
		if ok, err := ev.CheckSignature(); !ok || err != nil {
			c.t.Errorf("signature of %s: %v", ev.ID, err)
		}
	}
	thread := c.thread(nil, id)
	newest := []string{*thread[2].Event, *thread[0].Event}
	if len(heads) != 2 || !slices.Equal(got.IDs(), newest) {
		c.t.Errorf("the relay has %v, want the latest of each: %v", short(got.IDs()), short(newest))
	}
}

// TestContracts_Example replays the published example with two agents, whose
// keys the relay keeps or who hold their own, over HTTP and on the websocket.
func TestContracts_Example(t *testing.T) {
	relay := start(t, "ENGRAMD_ADMIN_KEYS="+managerKey().Pub)
	c := &contractCalls{caller: newCaller(t, relay), t: t}
	operator, stranger := &contractAgent{key: managerKey()}, &contractAgent{key: relaytest.Stranger()}
	names := func(n int) (string, string) { return fmt.Sprint("agent-", n), fmt.Sprint("e4dd4d3eba0", n) }
	held := func(n uint64, name string) *contractAgent {
		a := &contractAgent{key: relaytest.NewKey(n)}
		c.want(http.StatusCreated, a, http.MethodPost, "/api/identities", map[string]any{"agent_id": name, "pubkey": a.key.Pub}, nil)
		return a
	}
	kept := func(name string) *contractAgent {
		var made struct{ Token, PubKey string }
		c.want(http.StatusCreated, operator, http.MethodPost, "/api/identities", map[string]any{"agent_id": name}, &made)
		return &contractAgent{token: made.Token, key: relaytest.Key{Pub: made.PubKey}}
	}

	t.Run("provisioned", func(t *testing.T) {
		c := &contractCalls{caller: c.caller, t: t}
		p, w := names(1)
		poster, worker := kept(p), kept(w)
		var made struct {
			ID string `json:"contract_id"`
		}
		c.want(http.StatusCreated, poster, http.MethodPost, contractsPath, map[string]any{"worker_agent_id": w, "description": "a summary", "amount_sats": 5000}, &made)
		path := contractsPath + "/" + made.ID
		c.want(http.StatusOK, worker, http.MethodPost, path+"/transitions", map[string]any{"status": "accepted"}, nil)
		for i, s := range exampleSteps {
			by := []*contractAgent{poster, worker}[i%2]
			c.want(http.StatusCreated, by, http.MethodPost, path+"/memory", map[string]any{"type": s.typ, "visibility": s.visibility, "content": s.text}, nil)
		}
		c.wantExample(poster, worker, stranger, p, w, made.ID)
	})

	for n, way := range []string{"self-held over HTTP", "self-held on the websocket"} {
		p, w := names(n + 2)
		poster, worker := held(uint64(811+10*n), p), held(uint64(812+10*n), w)
		t.Run(way, func(t *testing.T) {
			c := &contractCalls{caller: c.caller, t: t}
			id := fmt.Sprintf("25becee1-0000-4000-8000-00000000000%d", n)
			path, socket := contractsPath+"/"+id, dial(t, relay)
			at := now() - 100
			later := func() int64 { at++; return at }
			// put brings an event to the relay one way or the other.
			put := func(by *contractAgent, status int, path string, body map[string]any, ev *nostr.Event) {
				t.Helper()
				if n == 1 {
					socket.store(ev)
					return
				}
				body["event"] = ev
				c.want(status, by, http.MethodPost, path, body, nil)
			}
			put(poster, http.StatusCreated, contractsPath, map[string]any{"worker_pubkey": worker.key.Pub, "description": "a test contract", "amount_sats": 1000},
				relaytest.State(poster.key, worker.key.Pub, id, "open", "", later()))
			put(worker, http.StatusOK, path+"/transitions", map[string]any{"status": "accepted"},
				relaytest.State(worker.key, poster.key.Pub, id, "accepted", "open", later()))
			for i, s := range exampleSteps {
				by, to := poster, worker
				if i%2 == 1 {
					by, to = worker, poster
				}
				body := map[string]any{"type": s.typ, "visibility": s.visibility, "content": s.text}
				if s.visibility != "shared" {
					c.want(http.StatusCreated, by, http.MethodPost, path+"/memory", body, nil)
					continue
				}
				put(by, http.StatusCreated, path+"/memory", body, relaytest.Entry(by.key, to.key.Pub, id, s.typ, s.text, later()))
			}
			c.wantExample(poster, worker, stranger, p, w, id)

			// What the worker's deliverable superseded is history, to the parties.
			history := fmt.Sprintf("/history?kind=30090&author=%s&d=%s", worker.key.Pub, id)
			for who, want := range map[*contractAgent]int{poster: 1, worker: 1, stranger: 0} {
				var past []nostr.Event
				c.want(http.StatusOK, who, http.MethodGet, history, nil, &past)
				if len(past) != want || want == 1 && past[0].ID != *c.thread(nil, id)[1].Event {
					t.Errorf("history has %d entries, want %d", len(past), want)
				}
			}
			var one struct{ Status, Description string }
			c.want(http.StatusOK, worker, http.MethodGet, path, nil, &one)
			if one.Status != "accepted" || one.Description != "a test contract" {
				t.Errorf("%+v", one)
			}
			// And back: the API moves, and the websocket goes on from there.
			submitted := relaytest.State(worker.key, poster.key.Pub, id, "submitted", "accepted", later())
			c.want(http.StatusOK, worker, http.MethodPost, path+"/transitions", map[string]any{"status": "submitted", "event": submitted}, nil)
			socket.refused(relaytest.State(poster.key, worker.key.Pub, id, "disputed", "accepted", later()), "invalid: ")
			socket.store(relaytest.State(poster.key, worker.key.Pub, id, "completed", "submitted", later()))
			c.want(http.StatusConflict, poster, http.MethodPost, path+"/memory", map[string]any{"type": "note", "visibility": "poster_only", "content": "late"}, nil)
		})
	}
}
