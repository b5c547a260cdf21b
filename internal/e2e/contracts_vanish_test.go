package e2e

import (
	"net/http"
	"testing"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// TestContracts_OneVanishes: when the poster has asked the relay to forget him, the worker goes on in the same contract, reads it
// and moves it over the API, after a restart too, and nobody else gets its id.
func TestContracts_OneVanishes(t *testing.T) {
	relay := start(t)
	poster, worker, thief := &contractAgent{key: relaytest.NewKey(871)}, &contractAgent{key: relaytest.NewKey(872)}, &contractAgent{key: relaytest.NewKey(873)}
	const id = "25becee1-e170-42e3-b8aa-51d3e864ce61"
	at := now() - 50
	dial(t, relay).store(relaytest.State(poster.key, worker.key.Pub, id, "open", "", at), relaytest.Entry(poster.key, worker.key.Pub, id, "message", "only filings", at),
		relaytest.State(worker.key, poster.key.Pub, id, "accepted", "open", at+1), relaytest.Entry(worker.key, poster.key.Pub, id, "message", "I begin", at+2),
		relaytest.Sign(poster.key, relaytest.KindVanish, at+10, "", nostr.Tag{"relay", "ALL_RELAYS"}))
	relay.Stop()
	relay = again(t, relay)
	c := &contractCalls{caller: newCaller(t, relay), t: t}
	path := contractsPath + "/" + id
	var contract struct {
		Status string `json:"status"`
		Poster string `json:"poster_pubkey"`
	}
	c.want(http.StatusOK, worker, http.MethodGet, path, nil, &contract)
	if contract.Status != "accepted" || contract.Poster != poster.key.Pub {
		t.Errorf("%+v", contract)
	}
	c.want(http.StatusOK, worker, http.MethodPost, path+"/transitions", map[string]any{"status": "submitted", "event": relaytest.State(worker.key, poster.key.Pub, id, "submitted", "accepted", at+20)}, nil)
	c.want(http.StatusCreated, worker, http.MethodPost, path+"/memory", map[string]any{"type": "note", "visibility": "worker_only", "content": "where is he?"}, nil)
	if thread := c.thread(worker, id); len(thread) != 2 || thread[0].Content != "I begin" || thread[1].Content != "where is he?" {
		t.Errorf("%+v", thread)
	}
	var order struct {
		Gaps []struct {
			N    int64  `json:"n"`
			Type string `json:"type"`
			Role string `json:"role"`
		} `json:"gaps"`
	}
	c.want(http.StatusOK, worker, http.MethodGet, path+"/order", nil, &order)
	if len(order.Gaps) != 2 || order.Gaps[0].Type != "state" || order.Gaps[1].N != 2 || order.Gaps[1].Role != "poster" {
		t.Errorf("%+v", order)
	}
	var list struct{ Contracts []struct{ Status string } }
	c.want(http.StatusOK, worker, http.MethodGet, contractsPath, nil, &list)
	if len(list.Contracts) != 1 || list.Contracts[0].Status != "submitted" {
		t.Errorf("%+v", list)
	}
	dial(t, relay).refused(relaytest.State(thief.key, worker.key.Pub, id, "open", "", at+30), "blocked")
	if out := relay.Run(nil, "check", "--data", relay.Data); out.Code != 0 {
		t.Errorf("check: %s%s", out.Stdout, out.Stderr)
	}
}
