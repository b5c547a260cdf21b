package contracts

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestContracts_Example replays the published example with two agents, whose
// keys the relay keeps or who hold their own, over HTTP and on the websocket.
func TestContracts_Example(t *testing.T) {
	relay := rig.Start(t, "ENGRAMD_ADMIN_KEYS="+rig.ManagerKey().Pub)
	c := &rig.ContractCalls{Caller: rig.NewCaller(t, relay), T: t}
	operator, stranger := &rig.ContractAgent{Key: rig.ManagerKey()}, &rig.ContractAgent{Key: relaytest.Stranger()}
	names := func(n int) (string, string) { return fmt.Sprint("agent-", n), fmt.Sprint("e4dd4d3eba0", n) }
	held := func(n uint64, name string) *rig.ContractAgent {
		a := &rig.ContractAgent{Key: relaytest.NewKey(n)}
		c.Want(http.StatusCreated, a, http.MethodPost, "/api/identities", map[string]any{"agent_id": name, "pubkey": a.Key.Pub}, nil)
		return a
	}
	kept := func(name string) *rig.ContractAgent {
		var made struct{ Token, PubKey string }
		c.Want(http.StatusCreated, operator, http.MethodPost, "/api/identities", map[string]any{"agent_id": name}, &made)
		return &rig.ContractAgent{Token: made.Token, Key: relaytest.Key{Pub: made.PubKey}}
	}

	t.Run("provisioned", func(t *testing.T) {
		c := &rig.ContractCalls{Caller: c.Caller, T: t}
		p, w := names(1)
		poster, worker := kept(p), kept(w)
		var made struct {
			ID string `json:"contract_id"`
		}
		c.Want(http.StatusCreated, poster, http.MethodPost, rig.ContractsPath, map[string]any{"worker_agent_id": w, "description": "a summary", "amount_sats": 5000}, &made)
		path := rig.ContractsPath + "/" + made.ID
		c.Want(http.StatusOK, worker, http.MethodPost, path+"/transitions", map[string]any{"status": "accepted"}, nil)
		for i, s := range rig.ExampleSteps {
			by := []*rig.ContractAgent{poster, worker}[i%2]
			c.Want(http.StatusCreated, by, http.MethodPost, path+"/memory", map[string]any{"type": s.Typ, "visibility": s.Visibility, "content": s.Text}, nil)
		}
		c.WantExample(poster, worker, stranger, p, w, made.ID)
	})

	for n, way := range []string{"self-held over HTTP", "self-held on the websocket"} {
		p, w := names(n + 2)
		poster, worker := held(uint64(811+10*n), p), held(uint64(812+10*n), w)
		t.Run(way, func(t *testing.T) {
			c := &rig.ContractCalls{Caller: c.Caller, T: t}
			id := fmt.Sprintf("25becee1-0000-4000-8000-00000000000%d", n)
			path, socket := rig.ContractsPath+"/"+id, rig.Dial(t, relay)
			at := rig.Now() - 100
			later := func() int64 { at++; return at }
			// put sends an event to the relay over HTTP or the websocket.
			put := func(by *rig.ContractAgent, status int, path string, body map[string]any, ev *nostr.Event) {
				t.Helper()
				if n == 1 {
					socket.Store(ev)
					return
				}
				body["event"] = ev
				c.Want(status, by, http.MethodPost, path, body, nil)
			}
			put(poster, http.StatusCreated, rig.ContractsPath, map[string]any{"worker_pubkey": worker.Key.Pub, "description": "a test contract", "amount_sats": 1000},
				relaytest.State(poster.Key, worker.Key.Pub, id, "open", "", later()))
			put(worker, http.StatusOK, path+"/transitions", map[string]any{"status": "accepted"},
				relaytest.State(worker.Key, poster.Key.Pub, id, "accepted", "open", later()))
			for i, s := range rig.ExampleSteps {
				by, to := poster, worker
				if i%2 == 1 {
					by, to = worker, poster
				}
				body := map[string]any{"type": s.Typ, "visibility": s.Visibility, "content": s.Text}
				if s.Visibility != "shared" {
					c.Want(http.StatusCreated, by, http.MethodPost, path+"/memory", body, nil)
					continue
				}
				put(by, http.StatusCreated, path+"/memory", body, relaytest.Entry(by.Key, to.Key.Pub, id, s.Typ, s.Text, later()))
			}
			c.WantExample(poster, worker, stranger, p, w, id)

			// The parties find in the history what the worker's deliverable superseded.
			history := fmt.Sprintf("/history?kind=30090&author=%s&d=%s", worker.Key.Pub, id)
			for who, want := range map[*rig.ContractAgent]int{poster: 1, worker: 1, stranger: 0} {
				var past []nostr.Event
				c.Want(http.StatusOK, who, http.MethodGet, history, nil, &past)
				if len(past) != want || want == 1 && past[0].ID != *c.Thread(nil, id)[1].Event {
					t.Errorf("history has %d entries, want %d", len(past), want)
				}
			}
			var one struct{ Status, Description string }
			c.Want(http.StatusOK, worker, http.MethodGet, path, nil, &one)
			if one.Status != "accepted" || one.Description != "a test contract" {
				t.Errorf("%+v", one)
			}
			// The other way round: the API moves, and the websocket continues from
			// there.
			submitted := relaytest.State(worker.Key, poster.Key.Pub, id, "submitted", "accepted", later())
			c.Want(http.StatusOK, worker, http.MethodPost, path+"/transitions", map[string]any{"status": "submitted", "event": submitted}, nil)
			socket.Refused(relaytest.State(poster.Key, worker.Key.Pub, id, "disputed", "accepted", later()), "invalid: ")
			socket.Store(relaytest.State(poster.Key, worker.Key.Pub, id, "completed", "submitted", later()))
			c.Want(http.StatusConflict, poster, http.MethodPost, path+"/memory", map[string]any{"type": "note", "visibility": "poster_only", "content": "late"}, nil)
		})
	}
}
