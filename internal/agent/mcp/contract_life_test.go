//go:build cgo

package mcp

import (
	"slices"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/relay/http/bridgetest"
)

// TestContractLife: two agents do business with the tools alone.
func TestContractLife(t *testing.T) {
	url := bridgetest.Start(t).URL
	as := func(name string) peer {
		c := client.New(who(t, name), client.Options{Relays: []string{url}, Timeout: patience / 2})
		t.Cleanup(c.Close)
		return connect(t, newServer(options{Memory: newFake(), Contracts: ContractsOf(contract.Of(c))}))
	}
	poster, worker := as("poster"), as("worker")
	made := ask[contractChangeOut](poster, "contract_new", args{"description": "Summarise", "worker": who(t, "worker").PubKey(), "amount_sats": 5})
	id := made.ContractID
	if made.Status != "open" || made.YourRole != "poster" || len(id) != 36 {
		t.Fatalf("%+v", made)
	}
	if list := ask[contractListOut](worker, "contract_list", args{"status": "open"}); list.Total != 1 || list.Contracts[0].ContractID != id || list.Contracts[0].YourRole != "worker" {
		t.Fatalf("%+v", list)
	}
	ask[contractSayOut](poster, "contract_say", args{"contract_id": id, "content": "Only filings"})
	if f, _ := worker.refused("contract_say", args{"contract_id": id, "content": "too early"}); f.Code != CodeConflict {
		t.Errorf("an entry before the acceptance: %+v", f)
	}
	if f, _ := poster.refused("contract_move", args{"contract_id": id, "status": "accepted"}); f.Code != CodeKeyRefused {
		t.Errorf("the poster accepts: %+v", f)
	}
	ask[contractChangeOut](worker, "contract_move", args{"contract_id": id, "status": "accepted"})
	said := ask[contractSayOut](worker, "contract_say", args{"contract_id": id, "content": "Here it is", "type": "deliverable", "attachments": []string{"https://example.com/r.pdf"}})
	if said.StoredOn != 1 || len(said.EventID) != 64 {
		t.Errorf("%+v", said)
	}
	ask[contractChangeOut](worker, "contract_move", args{"contract_id": id, "status": "submitted", "note": "done"})
	if f, _ := worker.refused("contract_say", args{"contract_id": id, "content": "mine", "visibility": "private"}); f.Code != CodeNoAPI {
		t.Errorf("a private entry: %+v", f)
	}
	ask[contractChangeOut](poster, "contract_move", args{"contract_id": id, "status": "completed"})
	if f, _ := poster.refused("contract_say", args{"contract_id": id, "content": "late"}); f.Code != CodeConflict {
		t.Errorf("an entry after the end: %+v", f)
	}
	read := ask[contractReadOut](poster, "contract_read", args{"contract_id": id})
	// This relay has no API that tells the order within one second, so it is
	// unproven.
	if read.Total == 2 && read.Entries[0].Role == "worker" {
		slices.Reverse(read.Entries)
	}
	if read.Total != 2 || read.Entries[1].Content != "Here it is" || read.Entries[1].Role != "worker" || read.Entries[1].Signature != "holds" || read.Status != "completed" {
		t.Errorf("%+v", read)
	}
	if found := ask[contractReadOut](worker, "contract_search", args{"contract_id": id, "query": "FILINGS only"}); found.Total != 1 {
		t.Errorf("%+v", found)
	}
	sum := ask[contractSummaryOut](worker, "contract_summary", args{"contract_id": id})
	if sum.TotalEntries != 2 || sum.ByType["deliverable"] != 1 || sum.NostrPublished != 2 {
		t.Errorf("%+v", sum)
	}
	show := ask[contractShowOut](worker, "contract_show", args{"contract_id": id})
	if len(show.Moves) != 4 || show.Moves[2].Note != "done" || show.Moves[3].Role != "poster" {
		t.Errorf("%+v", show)
	}
}

// TestContractIsDecided: an arbitrator on whom both agreed ends a dispute with
// the tools alone, and everybody sees whose signed decision it is.
func TestContractIsDecided(t *testing.T) {
	url := bridgetest.Start(t).URL
	as := func(name string) peer {
		c := client.New(who(t, name), client.Options{Relays: []string{url}, Timeout: patience / 2})
		t.Cleanup(c.Close)
		return connect(t, newServer(options{Memory: newFake(), Contracts: ContractsOf(contract.Of(c))}))
	}
	poster, worker, judge := as("poster"), as("worker"), as("judge")
	key := who(t, "judge").PubKey()
	made := ask[contractChangeOut](poster, "contract_new", args{"description": "Summarise", "worker": who(t, "worker").PubKey(), "arbitrator": key, "deadline": "72h"})
	id := made.ContractID
	if made.Offered == nil || made.Offered.Arbitrator != key || made.Offered.Deadline == "" || made.Agreed != nil {
		t.Fatalf("%+v", made)
	}
	ask[contractChangeOut](worker, "contract_move", args{"contract_id": id, "status": "accepted"})
	if f, _ := judge.refused("contract_move", args{"contract_id": id, "status": "completed"}); f.Code != CodeConflict {
		t.Errorf("decided before there is a dispute: %+v", f)
	}
	ask[contractChangeOut](worker, "contract_move", args{"contract_id": id, "status": "disputed", "note": "not paid"})
	if f, _ := as("stranger").refused("contract_move", args{"contract_id": id, "status": "completed"}); f.Code != CodeNoAPI {
		t.Errorf("a stranger decides: %+v", f)
	}
	ask[contractChangeOut](judge, "contract_move", args{"contract_id": id, "status": "completed", "note": "delivered"})
	for _, p := range []peer{poster, worker, judge} {
		show := ask[contractShowOut](p, "contract_show", args{"contract_id": id})
		if show.Status != "completed" || show.DecidedBy != "arbitrator" || len(show.Decision) != 64 || show.Agreed == nil || show.Agreed.Arbitrator != key ||
			len(show.Moves) != 4 || show.Moves[3].Role != "arbitrator" || show.Moves[3].Doubt != "" {
			t.Errorf("%+v", show)
		}
	}
}
