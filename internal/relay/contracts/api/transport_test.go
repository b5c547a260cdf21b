package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/store"
)

// TestChangesGoThroughOnce sends every changing call a second time with the
// same proof.
func TestChangesGoThroughOnce(t *testing.T) {
	w := newWorld(t)
	poster, worker := w.bind("poster"), w.bind("worker")
	id := w.offer(poster, worker, nil)
	op := &agent{key: w.operator}
	for _, c := range []struct {
		by     *agent
		path   string
		body   any
		status int
	}{
		{poster, "/api/escrow/contracts", map[string]any{"description": "d", "event": w.stateEvent(poster, poster.key.Pub, uuid(), "", "open", "d", 0)}, 201},
		{poster, "/api/escrow/contracts/" + id + "/memory", w.sayBody(poster, "", id, "note", "poster_only", "cedar"), 201},
		{worker, "/api/escrow/contracts/" + id + "/transitions", w.moveBody(worker, poster.key.Pub, id, "open", "accepted"), 200},
		{op, "/api/identities", map[string]any{"agent_id": "made"}, 201},
		{held("new"), "/api/identities", map[string]any{"agent_id": "new", "pubkey": held("new").key.Pub}, 201},
		{op, "/api/identities/made/token", map[string]any{}, 200},
	} {
		body, err := json.Marshal(c.body)
		must(t, err)
		proof := w.proof(c.by, "POST", c.path, body)
		if rec := w.send("POST", c.path, body, proof); rec.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.path, rec.Code, rec.Body, c.status)
		}
		rec := w.send("POST", c.path, body, proof)
		if rec.Code != http.StatusUnauthorized || !strings.Contains(rec.Body.String(), "was used before") || rec.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s again: %d %s", c.path, rec.Code, rec.Body)
		}
	}
	for _, secret := range []string{"cedar", poster.key.Pub, id} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log has %s: %s", secret, w.log)
		}
	}
	// Reading with one proof twice is harmless.
	path := "/api/escrow/contracts/" + id + "/memory"
	proof := w.proof(poster, "GET", path, nil)
	for range 2 {
		if rec := w.send("GET", path, nil, proof); rec.Code != http.StatusOK {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	}
}

// TestProofsCountOnceOverARestart: a proof that was used before a crash is
// refused after it.
func TestProofsCountOnceOverARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engramd.db")
	at := func(o *settings) { o.store.Path = file }
	var proof, path string
	var body []byte
	t.Run("before", func(t *testing.T) {
		w := newWorld(t, at)
		poster, worker := w.bind("poster"), w.bind("worker")
		id := w.offer(poster, worker, nil)
		path = "/api/escrow/contracts/" + id + "/memory"
		body, _ = json.Marshal(w.sayBody(poster, "", id, "note", "poster_only", "cedar"))
		proof = w.proof(poster, "POST", path, body)
		if rec := w.send("POST", path, body, proof); rec.Code != http.StatusCreated {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	})
	t.Run("after", func(t *testing.T) {
		w := newWorld(t, at)
		if rec := w.send("POST", path, body, proof); rec.Code != http.StatusUnauthorized {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	})
}

// TestFloodKeepsNobodyOut: while other keys' used proofs fill the memory, a
// change is carried out once; and a change that its caller may not make leaves
// no record.
func TestFloodKeepsNobodyOut(t *testing.T) {
	const flood = 1 << 17
	file := filepath.Join(t.TempDir(), "engramd.db")
	at := func(o *settings) { o.store.Path = file }
	t.Run("flood", func(t *testing.T) {
		w := newWorld(t, at)
		for done := 0; done < flood; {
			calls := make([]store.UsedCall, 1<<14)
			for i := range calls {
				calls[i] = store.UsedCall{ID: fmt.Sprintf("%064x", done+i), Key: fmt.Sprintf("%064x", done+i), At: w.clock.Now().Unix()}
			}
			if _, err := w.store.UseCalls(t.Context(), calls, 0); err != nil {
				t.Fatal(err)
			}
			done += len(calls)
		}
	})
	w := newWorld(t, at)
	poster, worker, stranger := w.bind("poster"), w.bind("worker"), held("stranger")
	id := w.offer(poster, worker, nil)
	path := "/api/escrow/contracts/" + id + "/memory"
	body, _ := json.Marshal(w.sayBody(poster, "", id, "note", "poster_only", "cedar"))
	first := w.proof(poster, "POST", path, body)
	for _, want := range []int{http.StatusCreated, http.StatusUnauthorized} {
		if rec := w.send("POST", path, body, first); rec.Code != want {
			t.Errorf("%d %s, want %d", rec.Code, rec.Body, want)
		}
	}
	w.want(http.StatusForbidden, stranger, "POST", path, w.sayBody(stranger, poster.key.Pub, id, "note", "shared", "elm"))
	w.want(http.StatusForbidden, stranger, "POST", "/api/escrow/contracts/"+id+"/transitions", w.moveBody(stranger, poster.key.Pub, id, "open", "completed"))
	w.want(http.StatusNotFound, stranger, "POST", "/api/escrow/contracts/"+uuid()+"/memory", w.sayBody(stranger, poster.key.Pub, id, "note", "shared", "elm"))
	w.want(http.StatusForbidden, stranger, "POST", "/api/identities", map[string]any{"agent_id": "somebody"})
	w.want(http.StatusForbidden, stranger, "POST", "/api/identities", map[string]any{"agent_id": "somebody", "pubkey": poster.key.Pub})
	w.want(http.StatusForbidden, stranger, "POST", "/api/identities/"+called("poster")+"/claim", nil)
	w.want(http.StatusForbidden, stranger, "POST", "/api/identities/"+called("poster")+"/token", nil)
	by := map[string]int{}
	if err := w.store.UsedCalls(t.Context(), 0, func(c store.UsedCall) { by[c.Key]++ }); err != nil {
		t.Fatal(err)
	}
	if len(by) != flood+2 || by[poster.key.Pub] != 3 || by[stranger.key.Pub] != 0 {
		t.Errorf("%d keys, %d of the poster, %d of the stranger are written down", len(by), by[poster.key.Pub], by[stranger.key.Pub])
	}
}

// TestRequestsAreReadStrictly wants 400 and the name of what is wrong.
func TestRequestsAreReadStrictly(t *testing.T) {
	w := newWorld(t)
	poster, worker := w.provision("poster"), w.provision("worker")
	id := w.offer(poster, worker, nil)
	memory := "/api/escrow/contracts/" + id + "/memory"
	for _, c := range []struct{ method, path, body, field string }{
		{"POST", memory, `{"type":"message","content":"x","contnet":"y"}`, "contnet"},
		{"POST", memory, `{"type":"message","type":"note","content":"x"}`, "type"},
		{"POST", memory, `{"type":"message","content":1}`, "content"},
		{"POST", memory, `{"type":"gossip","content":"x"}`, "type"},
		{"POST", memory, `{"type":"message","content":""}`, "content"},
		{"POST", memory, `{"type":"message","content":"x","attachments":["ftp://x"]}`, "attachments"},
		{"POST", memory, `{"type":"message","content":"x","visibility":"secret"}`, "visibility"},
		{"POST", memory, "{\"type\":\"message\",\"content\":\"\xff\"}", "body"},
		{"POST", memory, `[]`, "body"},
		{"POST", memory, ` null`, "body"},
		{"POST", "/api/identities/" + called("poster") + "/claim", `null`, "body"},
		{"POST", memory, ``, "body"},
		{"POST", memory, `{} {}`, "body"},
		{"GET", memory + "?limit=0", ``, "limit"},
		{"GET", memory + "?limit=501", ``, "limit"},
		{"GET", memory + "?limit=1&limit=2", ``, "limit"},
		{"GET", memory + "?offset=-1", ``, "offset"},
		{"GET", memory + "?type=gossip", ``, "type"},
		{"GET", memory + "?requester=poster", ``, "requester"},
		{"POST", "/api/escrow/contracts", `{"description":"d","amount_sats":-1}`, "amount_sats"},
		{"POST", "/api/escrow/contracts", `{"description":"d","deadline":"tomorrow"}`, "deadline"},
		{"POST", "/api/escrow/contracts/" + id + "/transitions", `{"status":"finished"}`, "status"},
		{"POST", memory + "/search", `{"query":""}`, "query"},
	} {
		rec := w.do(poster, c.method, c.path, []byte(c.body))
		var got struct {
			Error  string
			Fields map[string]string
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != http.StatusBadRequest || got.Fields[c.field] == "" || !strings.HasPrefix(got.Error, "invalid: ") {
			t.Errorf("%s %s %s: %d %s, want 400 naming %s", c.method, c.path, c.body, rec.Code, rec.Body, c.field)
		}
	}
	if rec := w.do(poster, "POST", memory, bytes.Repeat([]byte(" "), 1<<20+1)); rec.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over 1 MiB: %d %s", rec.Code, rec.Body)
	}
	if rec := w.do(held("own key"), "POST", "/api/escrow/contracts", []byte(`{"description":"d"}`)); rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), `"event"`) {
		t.Errorf("without the signed event: %d %s", rec.Code, rec.Body)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"PUT", memory, 405}, {"OPTIONS", memory, 204}, {"GET", "/api/nothing", 404}, {"GET", "/api/escrow/contracts/" + id + "/", 200}} {
		rec := w.do(poster, c.method, c.path, nil)
		if rec.Code != c.status || rec.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s: %d %v", c.method, c.path, rec.Code, rec.Header())
		}
	}
}

// TestPages reads a thread page by page.
func TestPages(t *testing.T) {
	w := newWorld(t)
	poster, worker := w.provision("poster"), w.provision("worker")
	id := w.offer(poster, worker, nil)
	var want []string
	for range 7 {
		want = append(want, w.say(poster, worker, id, "message", "shared", "x").EntryID)
	}
	var got []string
	for _, query := range []string{"?limit=3", "?limit=3&offset=3", "?limit=3&offset=6", "?limit=3&offset=9"} {
		page := decode[contracts.EntryPage](t, w.want(200, nil, "GET", "/api/escrow/contracts/"+id+"/memory"+query, nil))
		if page.Total != 7 || page.Limit != 3 {
			t.Errorf("%+v", page)
		}
		for _, e := range page.Entries {
			got = append(got, e.EntryID)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
}
