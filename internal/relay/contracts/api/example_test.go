package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/contracts"
)

// wantPublishedSummary fails unless a summary is that of the published example's four
// steps.
func wantPublishedSummary(t *testing.T, got contracts.Summary) {
	t.Helper()
	if got.TotalEntries != 4 || got.NostrPublished != 3 || got.DateRange == nil ||
		!maps.Equal(got.ByType, map[string]int{"message": 2, "note": 1, "deliverable": 1}) ||
		!maps.Equal(got.ByAuthor, map[string]int{"agent-0000": 2, "e4dd4d3eba02": 2}) ||
		!maps.Equal(got.ByVisibility, map[string]int{"shared": 3, "poster_only": 1}) {
		t.Errorf("the poster's summary: %+v", got)
	}
}

// onRelay reads the entries of a contract from the relay itself, as a stranger.
func (w *world) onRelay(id string) (events []nostr.Event) {
	w.t.Helper()
	body := []byte(fmt.Sprintf(`[{"kinds":[30090],"#d":[%q]}]`, id))
	rec := w.do(held("anybody"), "POST", "/query", body)
	if err := json.Unmarshal(rec.Body.Bytes(), &events); err != nil || rec.Code != http.StatusOK {
		w.t.Fatalf("/query: %d %s", rec.Code, rec.Body)
	}
	return events
}

// TestPublishedExample replays NIP-TEMP's worked example with identities whose keys
// the relay holds, that hold their own, and one of each.
func TestPublishedExample(t *testing.T) {
	for name, make := range map[string][2]func(*world, string) *agent{
		"provisioned": {(*world).provision, (*world).provision}, "self-held": {(*world).bind, (*world).bind},
		"one of each": {(*world).provision, (*world).bind},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			poster, worker := make[0](w, "agent-0000"), make[1](w, "e4dd4d3eba02")
			id := w.offer(poster, worker, nil)
			w.move(worker, poster, id, "open", "accepted")
			first := w.say(poster, worker, id, "message", "shared", "Focus on government filings from the last 7 days")
			second := w.say(worker, poster, id, "message", "shared", "Understood")
			note := w.say(poster, worker, id, "note", "poster_only", "verify this against our archive before approving")
			last := w.say(worker, poster, id, "deliverable", "shared", "The summary")
			for what, e := range map[string]contracts.Entry{"clarification": first, "acknowledgement": second, "deliverable": last} {
				if e.NostrEventID == nil {
					t.Errorf("the %s is not published", what)
				}
			}
			if note.NostrEventID != nil || note.AuthorAgentID != "agent-0000" || first.AuthorNpub == "" || first.ContractID != id {
				t.Errorf("note %+v, first %+v", note, first)
			}
			path := "/api/escrow/contracts/" + id + "/memory"
			wantPublishedSummary(t, decode[contracts.Summary](t, w.want(200, poster, "GET", path+"/summary", nil)))
			theirs := decode[contracts.Summary](t, w.want(200, worker, "GET", path+"/summary", nil))
			if theirs.TotalEntries != 3 || theirs.ByVisibility["poster_only"] != 0 || theirs.ByAuthor["agent-0000"] != 1 {
				t.Errorf("the worker's summary: %+v", theirs)
			}
			// The relay keeps the latest entry of each author, the API all.
			events := w.onRelay(id)
			if len(events) != 2 {
				t.Errorf("the relay has %d entries, want 2", len(events))
			}
			for _, ev := range events {
				if err := wire.Verify(&ev); err != nil || ev.ID != *first.NostrEventID && ev.ID != *last.NostrEventID {
					t.Errorf("event %s: %v", ev.ID, err)
				}
			}
			for who, want := range map[*agent][]string{
				poster: {first.EntryID, second.EntryID, note.EntryID, last.EntryID}, worker: {first.EntryID, second.EntryID, last.EntryID},
				nil: {first.EntryID, second.EntryID, last.EntryID},
			} {
				asked := path
				if who != nil {
					asked += "?requester_agent_id=" + who.name // as the published examples do
				}
				page := decode[contracts.EntryPage](t, w.want(200, who, "GET", asked, nil))
				var got []string
				for _, e := range page.Entries {
					got = append(got, e.EntryID)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) || page.Total != len(want) {
					t.Errorf("%v reads %v of %d, want %v", who, got, page.Total, want)
				}
			}
		})
	}
}

// TestSameThreadFromTheWire: the parties write on the relay, and the API has
// the same thread.
func TestSameThreadFromTheWire(t *testing.T) {
	w := newWorld(t)
	poster, worker, id := w.bind("agent-0000"), w.bind("e4dd4d3eba02"), uuid()
	publish := func(raw json.RawMessage) {
		t.Helper()
		rec := w.do(poster, "POST", "/events", []byte(raw))
		if rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	publish(w.stateEvent(poster, worker.key.Pub, id, "", "open", "Produce a civic intelligence summary", 5000))
	publish(w.stateEvent(worker, poster.key.Pub, id, "open", "accepted", "", 0))
	publish(w.entryEvent(poster, worker.key.Pub, id, entryID(), "message", "Focus on government filings from the last 7 days"))
	publish(w.entryEvent(worker, poster.key.Pub, id, entryID(), "message", "Understood"))
	w.say(poster, worker, id, "note", "poster_only", "verify this against our archive before approving")
	publish(w.entryEvent(worker, poster.key.Pub, id, entryID(), "deliverable", "The summary"))
	wantPublishedSummary(t, decode[contracts.Summary](t, w.want(200, poster, "GET", "/api/escrow/contracts/"+id+"/memory/summary", nil)))
	c := decode[contracts.Contract](t, w.want(200, worker, "GET", "/api/escrow/contracts/"+id, nil))
	if c.Status != "accepted" || c.Description != "Produce a civic intelligence summary" || c.AmountSats != 5000 {
		t.Errorf("%+v", c)
	}
	if n := len(w.onRelay(id)); n != 2 {
		t.Errorf("the relay has %d entries, want 2", n)
	}
	// The other way round: the relay has what the API moved.
	w.move(worker, poster, id, "accepted", "submitted")
	rec := w.do(poster, "POST", "/events", []byte(w.stateEvent(poster, worker.key.Pub, id, "accepted", "disputed", "", 0)))
	if rec.Code != http.StatusBadRequest {
		t.Errorf("a move from a state that the API has left: %d %s", rec.Code, rec.Body)
	}
}
