package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/contracts"
	"engramd/nips/niptemp"
)

// A poster who does not own an id is told that it is taken; a contract that its
// owner has displaced is found by its parties with its poster's name.
func TestOneIDOneContract(t *testing.T) {
	w := newWorld(t)
	poster, worker, thief, other := held("poster"), held("worker"), w.provision("thief"), held("other")
	salt := []byte("sixteen bytes of")
	id, err := niptemp.NewID(poster.key.Pub, salt)
	must(t, err)
	open := func(a *agent, text string, more ...nostr.Tag) map[string]any {
		content := `{"contract_id":"` + id + `","status":"open","amount_sats":5,"description":"` + text + `"}`
		ev := w.signed(a, niptemp.KindState, content, append(nostr.Tags{{"d", id}, {"p", worker.key.Pub}}, more...)...)
		return map[string]any{"worker_agent_id": worker.key.Pub, "description": text, "amount_sats": 5, "event": ev}
	}
	w.want(http.StatusCreated, other, "POST", "/api/escrow/contracts", open(other, "first"))
	w.want(http.StatusCreated, poster, "POST", "/api/escrow/contracts", open(poster, "the owner's", niptemp.SaltTag(salt)))
	rec := w.want(http.StatusConflict, thief, "POST", "/api/escrow/contracts", map[string]any{"contract_id": id, "description": "mine", "amount_sats": 5})
	if !strings.Contains(rec.Body.String(), "this contract id is taken") {
		t.Errorf("%s", rec.Body)
	}
	path := "/api/escrow/contracts/" + id
	for query, want := range map[string]string{"": "the owner's", "?poster=" + other.key.Pub: "first", "?poster=" + poster.key.Pub: "the owner's"} {
		if got := decode[contracts.Contract](t, w.want(http.StatusOK, worker, "GET", path+query, nil)); got.Description != want {
			t.Errorf("%q: %s", query, got.Description)
		}
	}
	for _, p := range []string{"", "/memory", "/memory/summary"} {
		w.want(http.StatusNotFound, held("stranger"), "GET", path+p+"?poster="+other.key.Pub, nil)
		w.want(http.StatusNotFound, worker, "GET", path+p+"?poster=nobody", nil)
		w.want(http.StatusOK, worker, "GET", path+p+"?poster="+other.key.Pub, nil)
	}
	w.want(http.StatusBadRequest, worker, "GET", "/api/escrow/contracts?poster="+other.key.Pub, nil)
}
