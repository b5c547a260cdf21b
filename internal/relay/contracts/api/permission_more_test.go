package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/gate"
)

// TestPermissionsOfTheRest tries every operation that is not about one contract
// as every caller, with the parties' keys held by themselves and by the relay:
// create, list, and the identities.
func TestPermissionsOfTheRest(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprint("held ", held), func(t *testing.T) {
			s := newScene(t, gate.ContractsContract, "accepted", held)
			for _, w := range s.everybody() {
				s.creates(t, w)
				s.lists(t, w)
				s.names(t, w)
			}
			for _, w := range s.everybody() {
				s.renews(t, w, held)
			}
			for _, w := range s.everybody() {
				s.claims(t, w, held)
			}
		})
	}
}

// proved returns want for a caller who proves a key, and 401 for others.
func proved(w who, want int) int {
	if w.role == "nobody" || w.role == "unproved" {
		return http.StatusUnauthorized
	}
	return want
}

func (s *scene) expect(t *testing.T, w who, want int, method, path string, body any) string {
	t.Helper()
	status, text := s.as(w, method, path, body)
	if status != want {
		t.Errorf("%s, %s %s %v: %d %s, want %d", w.name, method, path, body, status, text, want)
	}
	s.noKeys(t, w, status, text)
	return text
}

func (s *scene) creates(t *testing.T, w who) {
	t.Helper()
	const path = "/api/escrow/contracts"
	body := func() map[string]any {
		b := map[string]any{"description": "another", "amount_sats": 1, "worker_pubkey": s.clerk.Pub}
		if w.agent != nil && w.agent.token == "" {
			b["event"] = s.stateEvent(w.agent, s.clerk.Pub, uuid(), "", "open", "another", 1)
		}
		return b
	}
	s.expect(t, w, proved(w, http.StatusCreated), "POST", path, body())
	other := body()
	other["poster_agent_id"] = called(map[bool]string{true: "worker", false: "poster"}[w.role == "poster"])
	s.expect(t, w, proved(w, http.StatusForbidden), "POST", path, other)
	if w.agent != nil && w.agent.token == "" && w.spoil == nil { // a caller with their own key needs a signed event
		missing := body()
		delete(missing, "event")
		s.expect(t, w, http.StatusBadRequest, "POST", path, missing)
		foreign := body()
		foreign["event"] = s.stateEvent(&agent{key: s.clerk}, w.agent.key.Pub, uuid(), "", "open", "another", 1)
		s.expect(t, w, http.StatusBadRequest, "POST", path, foreign)
	}
}

// lists: every caller lists their own contracts and no others.
func (s *scene) lists(t *testing.T, w who) {
	t.Helper()
	text := s.expect(t, w, proved(w, http.StatusOK), "GET", "/api/escrow/contracts?limit=500", nil)
	in := w.role == "poster" || w.role == "worker" || w.role == "arbitrator"
	if strings.Contains(text, s.id) != in {
		t.Errorf("%s lists %s", w.name, text)
	}
	s.expect(t, w, proved(w, http.StatusForbidden), "GET", "/api/escrow/contracts?requester_agent_id="+called(map[bool]string{true: "worker", false: "poster"}[w.role == "poster"]), nil)
}

// names: the public part is open to all, provisioning is the operator's, and a
// key is bound to a name by its holder.
func (s *scene) names(t *testing.T, w who) {
	t.Helper()
	public := http.StatusOK
	if w.role == "unproved" {
		public = http.StatusUnauthorized
	}
	text := s.expect(t, w, public, "GET", "/api/identities/"+called("poster"), nil)
	if strings.Contains(text, `"token"`) || strings.Contains(text, "nsec") || strings.Contains(text, "sealed") {
		t.Errorf("%s is shown %s", w.name, text)
	}
	fresh := fmt.Sprintf("fresh-%d", len(s.taken))
	s.taken = append(s.taken, fresh)
	want := proved(w, http.StatusForbidden)
	if w.role == "operator" {
		want = http.StatusCreated
	}
	s.expect(t, w, want, "POST", "/api/identities", map[string]any{"agent_id": fresh})
	s.expect(t, w, proved(w, http.StatusForbidden), "POST", "/api/identities", map[string]any{"agent_id": "stolen", "pubkey": s.clerk.Pub})
	if w.agent != nil && w.agent.key.Pub != "" { // a name that is another's
		s.expect(t, w, proved(w, http.StatusConflict), "POST", "/api/identities", map[string]any{"agent_id": called(map[bool]string{true: "worker", false: "poster"}[w.role == "poster"]), "pubkey": w.agent.key.Pub})
	}
}

// renews: a token is renewed by its agent, with the current one, and by the
// operator; the old one is void then. An agent with its own key has none.
func (s *scene) renews(t *testing.T, w who, held bool) {
	t.Helper()
	path := "/api/identities/" + called("worker") + "/token"
	want := proved(w, http.StatusForbidden)
	if w.role == "worker" || w.role == "operator" {
		want = map[bool]int{true: http.StatusConflict, false: http.StatusOK}[held]
	}
	old := agent{name: called("worker"), key: s.worker.key, token: s.worker.token}
	text := s.expect(t, w, want, "POST", path, nil)
	if want == http.StatusOK {
		var got contracts.Provisioned
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.AgentID != called("worker") || got.PubKey != s.worker.key.Pub || !got.Provisioned {
			t.Fatalf("%s gets %s", w.name, text)
		}
		s.worker.token = got.Token
		s.want(http.StatusUnauthorized, &old, "GET", s.path, nil)
		s.want(http.StatusUnauthorized, &old, "POST", path, nil)
	} else if strings.Contains(text, "engramd_agent_") {
		t.Errorf("%s gets %s", w.name, text)
	}
	if !held {
		s.want(http.StatusOK, s.worker, "GET", s.path, nil)
	}
	missing := proved(w, http.StatusForbidden)
	if w.role == "operator" {
		missing = http.StatusNotFound
	}
	s.expect(t, w, missing, "POST", "/api/identities/nobody-has-this/token", nil)
}

// claims: a key is given to its own agent only, once.
func (s *scene) claims(t *testing.T, w who, held bool) {
	t.Helper()
	path := "/api/identities/" + called("worker") + "/claim"
	want := proved(w, http.StatusForbidden)
	if w.role == "worker" {
		want = map[bool]int{true: http.StatusConflict, false: http.StatusOK}[held]
	}
	text := s.expect(t, w, want, "POST", path, nil)
	if strings.Contains(text, "nsec1") != (want == http.StatusOK) {
		t.Errorf("%s gets %s", w.name, text)
	}
	if want == http.StatusOK {
		s.expect(t, w, http.StatusUnauthorized, "POST", path, nil) // the token went with the key
		s.expect(t, w, http.StatusUnauthorized, "GET", s.path, nil)
	}
}
