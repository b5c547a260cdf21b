package contracts

import (
	"net/http"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestContracts_OneVanishes: after the poster asked the relay to vanish, the
// worker continues in the same contract, reads it and moves it over the API,
// also after a restart, and nobody else gets its id.
func TestContracts_OneVanishes(t *testing.T) {
	relay := rig.Start(t)
	poster, worker, thief := &rig.ContractAgent{Key: relaytest.NewKey(871)}, &rig.ContractAgent{Key: relaytest.NewKey(872)}, &rig.ContractAgent{Key: relaytest.NewKey(873)}
	const id = "25becee1-e170-42e3-b8aa-51d3e864ce61"
	at := rig.Now() - 50
	rig.Dial(t, relay).Store(relaytest.State(poster.Key, worker.Key.Pub, id, "open", "", at), relaytest.Entry(poster.Key, worker.Key.Pub, id, "message", "only filings", at),
		relaytest.State(worker.Key, poster.Key.Pub, id, "accepted", "open", at+1), relaytest.Entry(worker.Key, poster.Key.Pub, id, "message", "I begin", at+2),
		relaytest.Sign(poster.Key, relaytest.KindVanish, at+10, "", nostr.Tag{"relay", "ALL_RELAYS"}))
	relay.Stop()
	relay = rig.Again(t, relay)
	c := &rig.ContractCalls{Caller: rig.NewCaller(t, relay), T: t}
	path := rig.ContractsPath + "/" + id
	var contract struct {
		Status string `json:"status"`
		Poster string `json:"poster_pubkey"`
	}
	c.Want(http.StatusOK, worker, http.MethodGet, path, nil, &contract)
	if contract.Status != "accepted" || contract.Poster != poster.Key.Pub {
		t.Errorf("%+v", contract)
	}
	c.Want(http.StatusOK, worker, http.MethodPost, path+"/transitions", map[string]any{"status": "submitted", "event": relaytest.State(worker.Key, poster.Key.Pub, id, "submitted", "accepted", at+20)}, nil)
	c.Want(http.StatusCreated, worker, http.MethodPost, path+"/memory", map[string]any{"type": "note", "visibility": "worker_only", "content": "where is he?"}, nil)
	if thread := c.Thread(worker, id); len(thread) != 2 || thread[0].Content != "I begin" || thread[1].Content != "where is he?" {
		t.Errorf("%+v", thread)
	}
	var order struct {
		Gaps []struct {
			N    int64  `json:"n"`
			Type string `json:"type"`
			Role string `json:"role"`
		} `json:"gaps"`
	}
	c.Want(http.StatusOK, worker, http.MethodGet, path+"/order", nil, &order)
	if len(order.Gaps) != 2 || order.Gaps[0].Type != "state" || order.Gaps[1].N != 2 || order.Gaps[1].Role != "poster" {
		t.Errorf("%+v", order)
	}
	var list struct{ Contracts []struct{ Status string } }
	c.Want(http.StatusOK, worker, http.MethodGet, rig.ContractsPath, nil, &list)
	if len(list.Contracts) != 1 || list.Contracts[0].Status != "submitted" {
		t.Errorf("%+v", list)
	}
	rig.Dial(t, relay).Refused(relaytest.State(thief.Key, worker.Key.Pub, id, "open", "", at+30), "blocked")
	if out := relay.Run(nil, "check", "--data", relay.Data); out.Code != 0 {
		t.Errorf("check: %s%s", out.Stdout, out.Stderr)
	}
}
