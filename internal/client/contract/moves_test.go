//go:build cgo

package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/e2e/inprocess"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestEverybodyReadsAllMoves: whoever may read a thread over the API reads all
// of its moves, also those superseded on the relay, with notes and times of
// arrival.
func TestEverybodyReadsAllMoves(t *testing.T) {
	url := inprocess.Start(t, nil).URL
	poster, worker, stranger := contractsOf(t, "poster", url), contractsOf(t, "worker", url), contractsOf(t, "stranger", url)
	id := example(t, poster, worker, true)
	for _, m := range []struct {
		by       *contract.Contracts
		to, note string
	}{{worker, "submitted", ""}, {poster, "accepted", "please add the SOURCES"}, {worker, "submitted", "added"}, {poster, "disputed", ""}} {
		done[contract.Contract](t)(m.by.Move(t.Context(), id, "", m.to, m.note, nil))
	}
	for name, cs := range map[string]*contract.Contracts{"poster": poster, "worker": worker, "stranger": stranger} {
		th := thread(t, cs, id)
		var told []string
		for _, m := range th.Moves {
			told = append(told, m.To+m.Note)
			if !m.Follows || m.ArrivedAt == 0 || (m.N > 0) != (name != "stranger") {
				t.Errorf("%s: %+v", name, m)
			}
		}
		if got := strings.Join(told, " "); got != "open accepted submitted acceptedplease add the SOURCES submittedadded disputed" {
			t.Errorf("%s reads %s", name, got)
		}
		if found := th.SelectMoves("sources ADD"); len(found) != 1 {
			t.Errorf("%s finds %d", name, len(found))
		}
		if s := th.Summary(); s.TotalTransitions != 6 || len(s.Notes) != 2 || s.Notes[0].Role != "poster" && name != "stranger" {
			t.Errorf("%s: %+v", name, s.Notes)
		}
	}
}

// TestContractsOfWhichOnlyEntriesAreKnownAreListed: also when only the API
// knows them.
func TestContractsOfWhichOnlyEntriesAreKnownAreListed(t *testing.T) {
	url := inprocess.Start(t, nil).URL
	worker := contractsOf(t, "worker", url)
	said := &nostr.Event{Kind: 30090, CreatedAt: nostr.Now(), Content: `{"type":"message","content":"hello"}`,
		Tags: nostr.Tags{{"d", "job-17"}, {"p", worker.PubKey()}, {"t", "message"}}}
	if err := said.Sign(storetest.NewKey("poster").Secret); err != nil {
		t.Fatal(err)
	}
	id, err := client.NewIdentity(storetest.NewKey("poster").Secret)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(id, client.Options{Relays: []string{url}})
	defer c.Close()
	if all, err := c.Publish(t.Context(), said); err != nil || len(all) != 1 || !all[0].Accepted {
		t.Fatalf("%+v, %v", all, err)
	}
	all := done[contract.Listing](t)(worker.List(t.Context(), "")).Contracts
	if len(all) != 1 || !all[0].Stateless || all[0].ID != "job-17" || all[0].Role(worker.PubKey()) != "party" {
		t.Errorf("%+v", all)
	}
	if th := thread(t, worker, "job-17"); len(th.Entries) != 1 || !th.Contract.Stateless || th.API {
		t.Errorf("%+v", th)
	}
}

// TestFalseOrderIsAFailure: a false signed order is a failure; a relay that
// signs none is not.
func TestFalseOrderIsAFailure(t *testing.T) {
	const word = `{"contract_id":"x","event":{},"lines":"1 1 -\n","gaps":[]}`
	var signs atomic.Bool
	url := inprocess.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/order") {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if !signs.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprint(w, `{"error":"error: this relay has no key to sign the order with"}`)
				return
			}
			fmt.Fprint(w, word)
		})
	}).URL
	poster, worker := contractsOf(t, "poster", url), contractsOf(t, "worker", url)
	id := example(t, poster, worker, true)
	th, s, err := worker.Thread(t.Context(), id, "")
	if err != nil || s.Partial || th.Order != nil {
		t.Errorf("without a key: %v, %+v, %+v", err, s, th.Order)
	}
	signs.Store(true)
	if th, s, err = worker.Thread(t.Context(), id, ""); err != nil || !s.Partial || th.Order != nil {
		t.Errorf("a false one: %v, %+v, %+v", err, s, th.Order)
	}
	if _, s, err = contractsOf(t, "stranger", url).Thread(t.Context(), id, ""); err != nil || s.Partial {
		t.Errorf("a stranger is told of the order: %v, %+v", err, s)
	}
}

// TestWhatARelayOpensIsItsWord: what a relay claims to be in a sealed entry is
// not believed where the party can open it, and is shown to others as the
// relay's unsigned word.
func TestWhatARelayOpensIsItsWord(t *testing.T) {
	var lie atomic.Pointer[[]byte]
	url := inprocess.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body := lie.Load(); body != nil && strings.HasSuffix(r.URL.Path, "/memory") {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(*body) // the client sees what is missing
				return
			}
			next.ServeHTTP(w, r)
		})
	}).URL
	poster, worker := contractsOf(t, "poster", url), contractsOf(t, "worker", url)
	id := example(t, poster, worker, true)
	said := done[contract.Entry](t)(poster.Say(t.Context(), id, "", contract.Saying{Type: "message", Content: "the truth", Sealed: true}))
	npub, err := nip19.EncodePublicKey(poster.PubKey())
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"contract_id": id, "total": 1, "entries": []any{map[string]any{
		"entry_id": said.EntryID, "contract_id": id, "author_agent_id": poster.PubKey(), "author_npub": npub, "type": "message", "visibility": "shared",
		"content": "a lie", "attachments": []string{}, "nostr_event_id": said.EventID, "created_at": time.Unix(said.CreatedAt, 0).UTC().Format(time.RFC3339),
		"encrypted": true, "opened": true, "event": said.Event,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	lie.Store(&body)
	for name, want := range map[string]contract.Entry{
		"poster":   {Content: "the truth", Signature: contract.SignatureDiffers},
		"worker":   {Content: "the truth", Signature: contract.SignatureDiffers},
		"stranger": {Content: "a lie", Signature: contract.SignatureUnseen, ByRelay: true},
	} {
		found := false
		for _, e := range thread(t, contractsOf(t, name, url), id).Entries {
			if e.EventID == said.EventID {
				found = e.Content == want.Content && e.Signature == want.Signature && e.ByRelay == want.ByRelay
			}
		}
		if !found {
			t.Errorf("%s reads something else", name)
		}
	}
}
