package contracts

import (
	"reflect"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// TestWorkedExample replays NIP-TEMP's worked example: through the API with
// provisioned keys, through the API with keys of their own, and with the shared
// entries written on the websocket.
func TestWorkedExample(t *testing.T) {
	for _, how := range []string{"provisioned", "self-held", "websocket"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			poster, worker := w.provision("agent-0000", anna), w.provision("e4dd4d3eba02", will)
			if how != "provisioned" {
				poster.Provisioned, worker.Provisioned = false, false
			}
			id := "25becee1-e170-42e3-b8aa-51d3e864ce60"
			if how == "provisioned" {
				c := w.create(poster, "", func(r *CreateRequest) { r.WorkerAgentID, r.ContractID = "e4dd4d3eba02", id })
				if c.Status != niptemp.Open || c.PosterAgentID != "agent-0000" || *c.WorkerAgentID != "e4dd4d3eba02" {
					t.Fatalf("created %+v", c)
				}
				w.clock.Add(second)
				wantCode(t, "accept", w.move(worker, id, niptemp.Accepted), 0)
			} else {
				open := w.stateOf(anna, id, will.Pub, niptemp.Open, "", "Produce a civic intelligence summary")
				w.create(poster, will.Pub, func(r *CreateRequest) { r.Event = raw(open) })
				w.clock.Add(second)
				accepted := w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, "")
				must[Contract](t)(w.Move(t.Context(), worker, id, MoveRequest{Status: niptemp.Accepted, Event: raw(accepted)}))
			}
			step := func(c Caller, kind string, vis Visibility, text string) {
				w.clock.Add(second)
				key, to := anna, will.Pub
				if c.PubKey == will.Pub {
					key, to = will, anna.Pub
				}
				ev := w.entryOf(key, id, to, kind, text)
				switch {
				case how == "websocket" && vis == Shared:
					w.mustPut(ev)
				case how == "self-held" && vis == Shared:
					e := must[Entry](t)(w.Say(t.Context(), c, id, EntryRequest{Type: kind, Content: text, Event: raw(ev)}))
					if e.EntryID != "mem_"+ev.ID[:12] || *e.NostrEventID != ev.ID {
						t.Errorf("entry %+v", e)
					}
				default:
					e := w.say(c, id, kind, vis, text)
					if (e.NostrEventID != nil) != (vis == Shared) || e.AuthorAgentID != c.AgentID || !store.IsEntryID(e.EntryID) {
						t.Errorf("entry %+v", e)
					}
				}
			}
			step(poster, "message", Shared, "Focus on government filings from the last 7 days")
			step(worker, "message", Shared, "Understood")
			step(poster, "note", PosterOnly, "verify this against our archive before approving")
			step(worker, "deliverable", Shared, "The summary")

			sum := must[Summary](t)(w.Summary(t.Context(), poster, id))
			sum.DateRange = nil
			want := Summary{
				ContractID: id, TotalEntries: 4, ByType: map[string]int{"message": 2, "note": 1, "deliverable": 1},
				ByAuthor: map[string]int{"agent-0000": 2, "e4dd4d3eba02": 2}, ByVisibility: map[string]int{"shared": 3, "poster_only": 1}, NostrPublished: 3,
				TotalTransitions: 2, Notes: []Transition{},
			}
			if !reflect.DeepEqual(sum, want) {
				t.Errorf("summary %+v, want %+v", sum, want)
			}
			shared := "Focus on government filings from the last 7 days|Understood|The summary"
			if got := w.texts(worker, id); got != shared {
				t.Errorf("the worker reads %s", got)
			}
			if got := w.texts(Caller{}, id); got != shared {
				t.Errorf("nobody reads %s", got)
			}
			if got := w.texts(poster, id); got != "Focus on government filings from the last 7 days|Understood|verify this against our archive before approving|The summary" {
				t.Errorf("the poster reads %s", got)
			}
			heads, err := w.store.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Kinds: []int{niptemp.KindEntry}}, MaxRows: 10})
			if err != nil || len(heads.Rows) != 2 {
				t.Errorf("the relay has %d entries as heads, want one per author (%v)", len(heads.Rows), err)
			}
		})
	}
}
