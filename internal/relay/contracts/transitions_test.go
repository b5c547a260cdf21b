package contracts

import (
	"fmt"
	"strings"
	"testing"

	"engramd/nips/niptemp"
)

// noteOf moves a contract with a note.
func (w *world) noteOf(c Caller, id string, to niptemp.Status, note string) {
	w.tb.Helper()
	w.clock.Add(second)
	must[Contract](w.tb)(w.Move(w.tb.Context(), c, id, MoveRequest{Status: to, Note: note}))
}

// moves lists the moves that a caller reads.
func (w *world) moves(c Caller, id string) string {
	w.tb.Helper()
	p := must[TransitionPage](w.tb)(w.Transitions(w.tb.Context(), c, id, TransitionQuery{Limit: 500}))
	if p.Total != len(p.Transitions) {
		w.tb.Errorf("total %d of %d moves", p.Total, len(p.Transitions))
	}
	return addMoves(p.Transitions)
}

func addMoves(all []Transition) string {
	var out []string
	for _, m := range all {
		text := fmt.Sprintf("%s by %s", m.Status, m.MovedBy)
		if m.PreviousStatus != nil {
			text = string(*m.PreviousStatus) + " to " + text
		}
		if m.Note != "" {
			text += ": " + m.Note
		}
		out = append(out, text)
	}
	return strings.Join(out, "|")
}

// TestWhyARevisionWasAskedFor: an agent whose key the relay keeps learns from
// the API why a revision was requested, also after the author's next move.
func TestWhyARevisionWasAskedFor(t *testing.T) {
	w := newWorld(t)
	poster, worker := w.provision("poster", anna), w.provision("worker", will)
	id := w.create(poster, will.Pub).ContractID
	w.noteOf(worker, id, niptemp.Accepted, "")
	w.say(worker, id, "deliverable", Shared, "The summary")
	w.noteOf(worker, id, niptemp.Submitted, "")
	w.noteOf(poster, id, niptemp.Accepted, "please add the SOURCES")
	w.noteOf(worker, id, niptemp.Submitted, "added")
	w.noteOf(poster, id, niptemp.Completed, "")

	want := "open by poster|open to accepted by worker|accepted to submitted by worker|submitted to accepted by poster: please add the SOURCES|" +
		"accepted to submitted by worker: added|submitted to completed by poster"
	for name, c := range map[string]Caller{"worker": worker, "poster": poster, "stranger": holder(mara), "nobody": {}, "operator": {PubKey: oper.Pub, Operator: true}} {
		if got := w.moves(c, id); got != want {
			t.Errorf("%s reads %s", name, got)
		}
	}
	sum := must[Summary](t)(w.Summary(t.Context(), worker, id))
	if got := addMoves(sum.Notes); sum.TotalTransitions != 6 || got != "submitted to accepted by poster: please add the SOURCES|accepted to submitted by worker: added" {
		t.Errorf("the summary tells %d, %s", sum.TotalTransitions, got)
	}
	found := must[SearchPage](t)(w.Search(t.Context(), worker, id, SearchRequest{Query: "sources please"}))
	if got := addMoves(found.Transitions); got != "submitted to accepted by poster: please add the SOURCES" || found.Total != 0 || found.Next != "" {
		t.Errorf("the search finds %d, %s, next %s", found.Total, got, found.Next)
	}
	if found = must[SearchPage](t)(w.Search(t.Context(), worker, id, SearchRequest{Query: "sources", Type: "note"})); len(found.Transitions) != 0 {
		t.Error("a search for notes among the entries finds moves")
	}
	page := must[TransitionPage](t)(w.Transitions(t.Context(), worker, id, TransitionQuery{Limit: 2, Offset: 3}))
	if got := addMoves(page.Transitions); page.Total != 6 || got != "submitted to accepted by poster: please add the SOURCES|accepted to submitted by worker: added" {
		t.Errorf("a page tells %d, %s", page.Total, got)
	}
	for _, m := range page.Transitions {
		if m.NostrEventID == nil || !strings.Contains(string(m.Event), *m.NostrEventID) || m.ReceivedAt.IsZero() || m.AuthorNpub == nil {
			t.Errorf("%+v", m)
		}
	}
	_, err := w.Transitions(t.Context(), worker, id, TransitionQuery{Limit: 501})
	wantCode(t, "too long a page", err, Invalid)
	_, err = w.Transitions(t.Context(), holder(mara), id, TransitionQuery{RequesterAgentID: "worker"})
	wantCode(t, "in another's name", err, Forbidden)
}

// TestMovesOfOthersAreNotAmongThem: states that a third key publishes under the
// id, and the parties' states to others, are no moves of the contract.
func TestMovesOfOthersAreNotAmongThem(t *testing.T) {
	w := newWorld(t)
	id := "25becee1-e170-42e3-b8aa-51d3e864ce60"
	w.mustPut(w.stateOf(anna, id, anna.Pub, niptemp.Open, "", "anybody?"))
	w.clock.Add(second)
	w.mustPut(w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, ""))
	w.put(w.stateOf(mara, id, will.Pub, niptemp.Open, "", "mine"))
	w.clock.Add(second)
	w.put(w.stateOf(will, id, mara.Pub, niptemp.Accepted, niptemp.Open, ""))
	if got := w.moves(holder(anna), id); got != "open by poster|open to accepted by worker" {
		t.Errorf("the poster reads %s", got)
	}
}

// TestSearchGoesThroughMoves: one call finds as many notes as fit a page, and
// the next continues after them.
func TestSearchGoesThroughMoves(t *testing.T) {
	w := newWorld(t)
	poster, worker := w.provision("poster", anna), w.provision("worker", will)
	id := w.create(poster, will.Pub).ContractID
	w.noteOf(worker, id, niptemp.Accepted, "")
	w.noteOf(worker, id, niptemp.Submitted, "cedar 0")
	for i := range 3 {
		w.noteOf(poster, id, niptemp.Accepted, fmt.Sprintf("cedar again %d", i))
		w.noteOf(worker, id, niptemp.Submitted, "elm")
	}
	var found []Transition
	after, calls := "", 0
	for {
		p := must[SearchPage](t)(w.Search(t.Context(), worker, id, SearchRequest{Query: "cedar", Limit: 2, After: after}))
		found = append(found, p.Transitions...)
		calls++
		if after = p.Next; after == "" {
			break
		}
	}
	if len(found) != 4 || calls != 3 {
		t.Errorf("%d calls find %s", calls, addMoves(found))
	}
	for _, wrong := range []string{"m", "m-1", "m01", "m4294967296", "mx"} {
		_, err := w.Search(t.Context(), worker, id, SearchRequest{Query: "cedar", After: wrong})
		wantCode(t, wrong, err, Invalid)
	}
}

// TestDecisionWithoutEventStandsLast: a decision that the relay recorded
// without an event is shown as its word, once, to those who may see decisions.
func TestDecisionWithoutEventStandsLast(t *testing.T) {
	w := newWorld(t)
	op := Caller{PubKey: oper.Pub, Operator: true}
	id := "25becee1-e170-42e3-b8aa-51d3e864ce60"
	for _, ev := range []func(){
		func() { w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", "")) },
		func() { w.mustPut(w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, "")) },
		func() { w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Disputed, niptemp.Accepted, "")) },
	} {
		ev()
		w.clock.Add(second)
	}
	w.noteOf(op, id, niptemp.Cancelled, "no cedar was delivered")
	signed := "open by poster|open to accepted by worker|accepted to disputed by poster"
	told := signed + "|disputed to cancelled by operator: no cedar was delivered"
	for name, c := range map[string]struct {
		Caller
		want string
	}{"poster": {holder(anna), told}, "worker": {holder(will), told}, "operator": {op, told}, "stranger": {holder(mara), signed}, "nobody": {Caller{}, signed}} {
		if got := w.moves(c.Caller, id); got != c.want {
			t.Errorf("%s reads %s", name, got)
		}
	}
	for offset, want := range []string{"disputed by poster", "cancelled by operator"} {
		p := must[TransitionPage](t)(w.Transitions(t.Context(), holder(anna), id, TransitionQuery{Limit: 1, Offset: 2 + offset}))
		if got := addMoves(p.Transitions); p.Total != 4 || !strings.Contains(got, want) {
			t.Errorf("page %d: %d, %s", offset, p.Total, got)
		}
	}
	if p := must[SearchPage](t)(w.Search(t.Context(), holder(anna), id, SearchRequest{Query: "cedar"})); len(p.Transitions) != 1 || p.Transitions[0].NostrEventID != nil {
		t.Errorf("the search finds %s", addMoves(p.Transitions))
	}
}

// TestContractsOfWhichOnlyEntriesAreKnown: their parties list and read them,
// and nobody else sees them.
func TestContractsOfWhichOnlyEntriesAreKnown(t *testing.T) {
	w := newWorld(t)
	id := "job-of-another-platform"
	first := w.entryOf(anna, id, will.Pub, "message", "Focus on filings")
	w.mustPut(first)
	w.clock.Add(second)
	w.mustPut(w.entryOf(will, id, anna.Pub, "message", "Understood"))
	w.mustPut(w.entryOf(mara, id, mara.Pub, "note", "to myself")) // a talk of her own
	with := w.create(w.provision("anna", anna), will.Pub)

	for _, k := range []Caller{holder(anna), holder(will)} {
		list := must[ContractPage](t)(w.List(t.Context(), k, ContractQuery{}))
		if list.Total != 2 || len(list.Contracts) != 2 || list.Contracts[0].ContractID != with.ContractID || list.Contracts[1].ContractID != id || list.Contracts[1].Status != "" {
			t.Fatalf("listed: %+v", list)
		}
		if p := must[ContractPage](t)(w.List(t.Context(), k, ContractQuery{Limit: 1, Offset: 1})); p.Total != 2 || len(p.Contracts) != 1 || p.Contracts[0].ContractID != id {
			t.Errorf("second page: %+v", p)
		}
		if p := must[ContractPage](t)(w.List(t.Context(), k, ContractQuery{Status: "open"})); p.Total != 1 {
			t.Errorf("open ones: %+v", p)
		}
		c := must[Contract](t)(w.Get(t.Context(), k, id))
		if c.Status != "" || c.PosterPubKey != anna.Pub || *c.WorkerPubKey != will.Pub {
			t.Errorf("%+v", c)
		}
		if got := w.texts(k, id); got != "Focus on filings|Understood" {
			t.Errorf("reads %s", got)
		}
		if got := w.moves(k, id); got != "" {
			t.Errorf("moves %s", got)
		}
		if p := must[SearchPage](t)(w.Search(t.Context(), k, id, SearchRequest{Query: "filings"})); p.Total != 1 {
			t.Errorf("the search finds %d", p.Total)
		}
		if sum := must[Summary](t)(w.Summary(t.Context(), k, id)); sum.TotalEntries != 2 {
			t.Errorf("the summary counts %d", sum.TotalEntries)
		}
		must[Entry](t)(w.Entry(t.Context(), k, id, "mem_"+first.ID[:12]))
	}
	if got := w.texts(holder(mara), id); got != "to myself" {
		t.Errorf("she reads %s", got)
	}
	for name, c := range map[string]Caller{"arby": holder(arby), "nobody": {}, "operator": {PubKey: oper.Pub, Operator: true}} {
		_, err := w.Entries(t.Context(), c, id, EntryQuery{})
		wantCode(t, name, err, NotFound)
	}
	// Entries are still accepted; a request that needs a state is refused and says
	// so.
	ev := w.entryOf(will, id, anna.Pub, "deliverable", "The summary")
	must[Entry](t)(w.Say(t.Context(), holder(will), id, EntryRequest{Type: "deliverable", Content: "The summary", Event: raw(ev)}))
	_, err := w.Say(t.Context(), holder(will), id, EntryRequest{Type: "note", Visibility: WorkerOnly, Content: "x"})
	wantCode(t, "a private entry", err, Conflict)
	wantCode(t, "a move", w.move(holder(will), id, niptemp.Submitted), Conflict)
	// A state makes it an ordinary contract, and a deletion removes the rest.
	w.clock.Add(second)
	w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", "now in order"))
	if c := must[Contract](t)(w.Get(t.Context(), holder(will), id)); c.Status != niptemp.Open {
		t.Errorf("%+v", c)
	}
	if list := must[ContractPage](t)(w.List(t.Context(), holder(anna), ContractQuery{})); list.Total != 2 {
		t.Errorf("listed: %+v", list)
	}
}
