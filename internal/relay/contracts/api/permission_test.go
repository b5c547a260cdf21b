package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

// who is a caller: its role in the rules, and how it proves its key.
type who struct {
	name  string
	role  string // "poster", "worker", "arbitrator", "operator", "stranger", "nobody"; "unproved" for a proof that fails
	agent *agent
	spoil func(*nostr.Event) // of the proof
}

// scene is one contract in one state, with an entry of each visibility.
type scene struct {
	*world
	status                         string
	id                             string
	poster, worker, arbitrator     *agent
	shared, posterOnly, workerOnly contracts.Entry
	path                           string
	all                            []who
	clerk                          storetest.Key // a key that never asks
	taken                          []string      // names that were asked for
}

// ways are the moves that lead from open to each state: role and new status.
var ways = map[string][]string{
	"open": {}, "accepted": {"worker accepted"}, "submitted": {"worker accepted", "worker submitted"},
	"disputed": {"worker accepted", "worker disputed"}, "completed": {"worker accepted", "worker submitted", "poster completed"},
	"cancelled": {"poster cancelled"}, "expired": {"expired"},
}

func newScene(t *testing.T, contractsGate, status string, held bool) *scene {
	t.Helper()
	s := &scene{world: newWorld(t, func(o *settings) { o.gate.Contracts = contractsGate }), status: status, clerk: storetest.NewKey("clerk")}
	make := s.provision
	if held {
		make = s.bind
	}
	s.poster, s.worker, s.arbitrator = make("poster"), make("worker"), s.bind("arbitrator")
	deadline := s.clock.Now().Add(time.Hour)
	if held {
		s.terms = nostr.Tags{{"arbitrator", s.arbitrator.key.Pub}, {"deadline", fmt.Sprint(deadline.Unix())}}
	}
	s.id = s.offer(s.poster, s.worker, map[string]any{"arbitrator_agent_id": called("arbitrator"), "deadline": deadline.UTC()})
	s.path = "/api/escrow/contracts/" + s.id
	s.shared = s.say(s.poster, s.worker, s.id, "message", "shared", "shared cedar")
	s.posterOnly = s.say(s.poster, s.worker, s.id, "note", "poster_only", "private cedar of the poster")
	was := "open"
	for i, step := range ways[status] {
		if step == "expired" {
			s.clock.Add(2 * time.Hour)
			break
		}
		by, to, _ := strings.Cut(step, " ")
		a, other := s.poster, s.worker
		if by == "worker" {
			a, other = other, a
		}
		s.move(a, other, s.id, was, to)
		if was = to; i == 0 && by == "worker" {
			s.workerOnly = s.say(s.worker, s.poster, s.id, "note", "worker_only", "private cedar of the worker")
		}
	}
	s.terms = nil
	return s
}

func (s *scene) everybody() []who {
	if s.all != nil {
		return s.all
	}
	stranger, judge := held("stranger"), "arbitrator"
	if s.workerOnly.EntryID == "" {
		judge = "stranger" // nobody has accepted, so there is no agreed arbitrator yet
	}
	s.all = []who{
		{"nobody", "nobody", nil, nil}, {"stranger", "stranger", stranger, nil}, {"poster", "poster", s.poster, nil},
		{"worker", "worker", s.worker, nil}, {"arbitrator", judge, s.arbitrator, nil},
		{"operator", "operator", &agent{name: "operator", key: s.world.operator}, nil},
		{"a stranger's token", "stranger", s.provision("somebody-else"), nil},
		{"an unknown token", "unproved", &agent{token: "engramd_agent_" + strings.Repeat("x", 43)}, nil},
		{"a wrong signature", "unproved", stranger, func(ev *nostr.Event) { _ = ev.Sign(stranger.key.Secret); ev.Sig = strings.Repeat("0", 128) }},
		{"an expired proof", "unproved", stranger, func(ev *nostr.Event) { ev.CreatedAt -= 61 }},
		{"a proof for another path", "unproved", stranger, func(ev *nostr.Event) { ev.Tags[0][1] += "x" }},
		{"a proof for another method", "unproved", stranger, func(ev *nostr.Event) { ev.Tags[1][1] = "PUT" }},
	}
	return s.all
}

// mayRead is the rule: shared entries are for parties, and for whoever names
// the contract unless the gate keeps them to the parties (and to those who
// settle their disputes; the operator while there is one).
func mayRead(role, status, contractsGate string) int {
	switch {
	case role == "operator" && contractsGate == "parties" && status != "disputed":
		return http.StatusNotFound
	case role == "unproved":
		return http.StatusUnauthorized
	case slices.Contains([]string{"poster", "worker", "arbitrator", "operator"}, role), contractsGate != "parties":
		return http.StatusOK
	case role == "nobody":
		return http.StatusUnauthorized
	}
	return http.StatusNotFound
}

// mayMove is the rule: NIP-TEMP's table of moves.
func mayMove(role, from, to, contractsGate string) int {
	movers := map[string]string{
		"open accepted": "worker", "open cancelled": "poster", "accepted submitted": "worker", "accepted disputed": "poster worker",
		"accepted cancelled": "worker", "submitted accepted": "poster", "submitted completed": "poster", "submitted disputed": "poster worker",
		"disputed completed": "poster arbitrator operator", "disputed cancelled": "worker arbitrator operator",
	}
	allowed, known := movers[from+" "+to]
	switch {
	case role == "nobody" || role == "unproved":
		return http.StatusUnauthorized
	case role == "stranger" && contractsGate == "parties":
		return http.StatusNotFound
	case role == "stranger":
		return http.StatusForbidden
	case !known:
		return http.StatusConflict
	case slices.Contains(strings.Fields(allowed), role):
		return http.StatusOK
	}
	return http.StatusForbidden
}

// mayWrite is the rule: parties, while the state lets them.
func mayWrite(role, visibility, status, contractsGate string) int {
	final := slices.Contains([]string{"completed", "cancelled", "expired"}, status)
	switch {
	case role == "nobody" || role == "unproved":
		return http.StatusUnauthorized
	case role == "stranger" && contractsGate == "parties":
		return http.StatusNotFound
	case role != "poster" && role != "worker":
		return http.StatusForbidden
	case visibility != "shared" && visibility != role+"_only":
		return http.StatusForbidden
	case final, status == "open" && role == "worker":
		return http.StatusConflict
	}
	return http.StatusCreated
}

// TestPermissions tries everything as every caller, in every state, with the
// parties' keys held by themselves and by the relay.
func TestPermissions(t *testing.T) {
	gates := []string{gate.ContractsContract, gate.ContractsParties, gate.ContractsPublic}
	if testing.Short() {
		gates = gates[:1]
	}
	for _, contractsGate := range gates {
		for status := range ways {
			for _, held := range []bool{false, true} {
				if contractsGate != gate.ContractsContract && (held || status != "accepted" && status != "completed" && status != "disputed") {
					continue // the gate is asked in the same place whatever the state
				}
				t.Run(fmt.Sprint(contractsGate, " ", status, " held ", held), func(t *testing.T) {
					s := newScene(t, contractsGate, status, held)
					for _, w := range s.everybody() {
						s.reads(t, w, contractsGate)
					}
					for _, w := range s.everybody() {
						s.changes(t, w, contractsGate)
					}
				})
			}
		}
	}
}

// as sends a request with the proof of w.
func (s *scene) as(w who, method, path string, body any) (status int, text string) {
	var change []func(*nostr.Event)
	if w.spoil != nil {
		change = append(change, w.spoil)
	}
	rec := s.do(w.agent, method, path, body, change...)
	return rec.Code, rec.Body.String()
}

func (s *scene) reads(t *testing.T, w who, contractsGate string) {
	t.Helper()
	want := mayRead(w.role, s.status, contractsGate)
	party := w.role == "poster" || w.role == "worker"
	for _, ask := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/memory", nil}, {"GET", "/memory?visibility=poster_only", nil}, {"GET", "/memory?author=" + called("poster") + "&events=true", nil}, {"GET", "/memory/summary", nil},
		{"GET", "/memory/" + s.shared.EntryID, nil}, {"POST", "/memory/search", map[string]any{"query": "cedar"}},
	} {
		status, text := s.as(w, ask.method, s.path+ask.path, ask.body)
		want := want
		if w.role == "nobody" && ask.path == "/memory/search" { // searching is work, which only a proved key may cause
			want = http.StatusUnauthorized
		}
		if status != want {
			t.Errorf("%s, %s %s: %d %s, want %d", w.name, ask.method, ask.path, status, text, want)
		}
		s.noneOfOthers(t, w, ask.path, text)
	}
	// Whoever reads the thread reads the moves, whatever the proof.
	if status, text := s.as(w, "GET", s.path+"/transitions", nil); status != want || strings.Contains(text, "private cedar") {
		t.Errorf("%s, the moves: %d %s, want %d", w.name, status, text, want)
	}
	status, text := s.as(w, "GET", s.path, nil)
	switch ok := map[int]bool{200: party || w.role == "arbitrator" || w.role == "operator",
		401: w.role == "nobody" || w.role == "unproved", 404: w.role == "stranger"}[status]; {
	case !ok:
		t.Errorf("%s, the contract itself: %d %s", w.name, status, text)
	case status == 200 && !strings.Contains(text, `"status":"`+s.status+`"`):
		t.Errorf("%s: %s, want %s", w.name, text, s.status)
	}
	for _, private := range []struct {
		entry contracts.Entry
		of    string
	}{{s.posterOnly, "poster"}, {s.workerOnly, "worker"}} {
		if private.entry.EntryID == "" {
			continue
		}
		status, text := s.as(w, "GET", s.path+"/memory/"+private.entry.EntryID, nil)
		_, missing := s.as(w, "GET", s.path+"/memory/"+entryID(), nil)
		want := want
		if want == http.StatusOK && w.role != private.of {
			want = http.StatusNotFound
		}
		if status != want || want == http.StatusNotFound && text != missing {
			t.Errorf("%s, %s's private entry: %d %s, want %d; one that is not there: %s", w.name, private.of, status, text, want, missing)
		}
	}
	// No caller can pass for another.
	if status, text := s.as(w, "GET", s.path+"/memory?requester_agent_id="+called(map[bool]string{true: "worker", false: "poster"}[w.role == "poster"]), nil); status < 400 {
		t.Errorf("%s reads as another: %d %s", w.name, status, text)
	}
	// A contract that does not exist.
	if status, text := s.as(w, "GET", "/api/escrow/contracts/"+uuid()+"/memory", nil); status != http.StatusNotFound && status != http.StatusUnauthorized {
		t.Errorf("%s, a contract that is not there: %d %s", w.name, status, text)
	}
}

// noneOfOthers looks for private entries of others in an answer, and for their
// number.
func (s *scene) noneOfOthers(t *testing.T, w who, path, text string) {
	t.Helper()
	for of, entry := range map[string]contracts.Entry{"poster": s.posterOnly, "worker": s.workerOnly} {
		if w.role != of && (strings.Contains(text, "private cedar of the "+of) || entry.EntryID != "" && strings.Contains(text, entry.EntryID) || strings.Contains(text, `"`+of+`_only"`)) {
			t.Errorf("%s, %s: private entries of the %s show: %s", w.name, path, of, text)
		}
	}
	if w.role != "poster" && w.role != "worker" && strings.Contains(text, `"total":`) && !strings.Contains(text, `"total":1,`) && !strings.Contains(text, `"total":0,`) {
		t.Errorf("%s, %s: counts more than the shared entry: %s", w.name, path, text)
	}
}

func (s *scene) changes(t *testing.T, w who, contractsGate string) {
	t.Helper()
	other := s.poster.key.Pub
	if w.role == "poster" {
		other = s.worker.key.Pub
	}
	for _, visibility := range []string{"shared", "poster_only", "worker_only"} {
		status, text := s.as(w, "POST", s.path+"/memory", s.sayBody(w.agent, other, s.id, "message", visibility, "elm"))
		if want := mayWrite(w.role, visibility, s.status, contractsGate); status != want {
			t.Errorf("%s in %s writes %s: %d %s, want %d", w.name, s.status, visibility, status, text, want)
		}
		s.noKeys(t, w, status, text)
		body := s.sayBody(w.agent, other, s.id, "message", visibility, "elm")
		body["author_agent_id"] = called("arbitrator")
		if status, text := s.as(w, "POST", s.path+"/memory", body); status < 400 {
			t.Errorf("%s writes as another: %d %s", w.name, status, text)
		}
	}
	// A move that is allowed would change the scene, so each has a scene of its
	// own.
	for to := range ways {
		want := mayMove(w.role, s.status, to, contractsGate)
		if to == "open" {
			continue // no move leads there: 400
		}
		if to == "expired" || want == http.StatusOK {
			continue
		}
		status, text := s.as(w, "POST", s.path+"/transitions", s.moveBody(w.agent, other, s.id, s.status, to))
		if status != want {
			t.Errorf("%s moves %s to %s: %d %s, want %d", w.name, s.status, to, status, text, want)
		}
		if status == http.StatusConflict && !strings.HasPrefix(text, fmt.Sprintf(`{"error":"Contract is in '%s' state. `, s.status)) {
			t.Errorf("409 says %s", text)
		}
		s.noKeys(t, w, status, text)
	}
}

// noKeys: refusals name roles, never keys or contents.
func (s *scene) noKeys(t *testing.T, w who, status int, text string) {
	t.Helper()
	for _, secret := range []string{s.poster.key.Pub, s.worker.key.Pub, s.arbitrator.key.Pub, "cedar"} {
		if status >= 400 && strings.Contains(text, secret) {
			t.Errorf("%s is told %s", w.name, text)
		}
	}
}

// TestEveryAllowedMove makes each move that the rules allow, as each role that
// may.
func TestEveryAllowedMove(t *testing.T) {
	for from := range ways {
		for to := range ways {
			for _, role := range []string{"poster", "worker", "arbitrator", "operator"} {
				for _, held := range []bool{false, true} {
					if mayMove(role, from, to, gate.ContractsContract) != http.StatusOK {
						continue
					}
					t.Run(fmt.Sprint(role, " ", from, " ", to, " held ", held), func(t *testing.T) {
						s := newScene(t, gate.ContractsContract, from, held)
						for _, w := range s.everybody() {
							if w.name != role {
								continue
							}
							other := s.poster.key.Pub
							if role == "poster" {
								other = s.worker.key.Pub
							}
							body := s.moveBody(w.agent, other, s.id, from, to)
							if role == "operator" {
								delete(body, "event")
							}
							if role == "arbitrator" {
								body["event"] = s.decisionEvent(w.agent, s.poster.key.Pub, s.worker.key.Pub, s.id, to)
							}
							status, text := s.as(w, "POST", s.path+"/transitions", body)
							if status != http.StatusOK || !strings.Contains(text, `"status":"`+to+`"`) {
								t.Errorf("%d %s", status, text)
							}
						}
					})
				}
			}
		}
	}
}
