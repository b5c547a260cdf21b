package contracts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// TestPermissions asks every question as every caller, under every option of
// the gate, in every status; what is expected follows from the rules and not
// from a list.
func TestPermissions(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	for _, mode := range []string{gate.ContractsContract, gate.ContractsParties, gate.ContractsPublic} {
		w := newWorld(t, func(o *gate.Options) { o.Contracts = mode })
		callers := map[string]Caller{
			"nobody": {}, "stranger": w.provision("mara", mara), "poster": w.provision("anna", anna), "worker": w.provision("will", will),
			"arbitrator": w.provision("arby", arby), "operator": {PubKey: oper.Pub, Operator: true, Provisioned: true},
		}
		for _, status := range niptemp.Statuses() {
			id := w.in(callers["poster"], callers["worker"], niptemp.Accepted)
			w.clock.Add(second)
			shared := w.say(callers["poster"], id, "message", Shared, "shared words")
			own := map[string]Entry{
				"poster": w.say(callers["poster"], id, "note", PosterOnly, "secret of the poster"),
				"worker": w.say(callers["worker"], id, "note", WorkerOnly, "secret of the worker"),
			}
			w.become(callers, id, status)
			for role, c := range callers {
				t.Run(fmt.Sprintf("%s/%s/%s", mode, status, role), func(t *testing.T) {
					p := &permission{t: t, w: w, role: role, c: c, id: id, status: status, shared: shared, own: own, named: mode != gate.ContractsParties}
					p.reads()
					p.writes()
				})
			}
		}
	}
}

// become moves an accepted contract to the status.
func (w *world) become(callers map[string]Caller, id string, to niptemp.Status) {
	w.tb.Helper()
	steps := map[niptemp.Status][]string{
		niptemp.Submitted: {"worker submitted"}, niptemp.Disputed: {"poster disputed"},
		niptemp.Completed: {"worker submitted", "poster completed"}, niptemp.Cancelled: {"worker cancelled"},
	}
	if to == niptemp.Expired {
		w.clock.Add(2 * time.Hour)
	}
	for _, step := range steps[to] {
		who, status, _ := strings.Cut(step, " ")
		w.clock.Add(second)
		wantCode(w.tb, step, w.move(callers[who], id, niptemp.Status(status)), 0)
	}
	w.clock.Add(second)
}

type permission struct {
	t      *testing.T
	w      *world
	role   string
	c      Caller
	id     string
	status niptemp.Status
	shared Entry
	own    map[string]Entry
	named  bool
}

func (p *permission) in(roles ...string) bool {
	return strings.Contains(" "+strings.Join(roles, " ")+" ", " "+p.role+" ")
}

// reads tries every read.
func (p *permission) reads() {
	t, ctx := p.t, p.t.Context()
	inside := p.in("poster", "worker", "arbitrator", "operator")
	var want Code
	switch {
	case p.role == "operator" && !p.named && p.status != niptemp.Disputed:
		want = NotFound // a managing key sees a thread while it is disputed
	case inside || p.named:
	case p.role == "nobody":
		want = Unauthenticated
	default:
		want = NotFound
	}
	page, err := p.w.Entries(ctx, p.c, p.id, EntryQuery{})
	wantCode(t, "entries", err, want)
	sum, err := p.w.Summary(ctx, p.c, p.id)
	wantCode(t, "summary", err, want)
	found, err := p.w.Search(ctx, p.c, p.id, SearchRequest{Query: "SECRET of"})
	if p.role == "nobody" { // searching is work, which only a proved key may cause
		wantCode(t, "search", err, Unauthenticated)
		found = SearchPage{}
	} else {
		wantCode(t, "search", err, want)
	}
	_, err = p.w.Entry(ctx, p.c, p.id, p.shared.EntryID)
	wantCode(t, "shared entry", err, want)
	mine := 0
	if p.in("poster", "worker") {
		mine = 1
	}
	if want == 0 {
		if page.Total != 1+mine || sum.TotalEntries != 1+mine || found.Total != mine || len(found.Entries) != mine {
			t.Errorf("sees %d entries, %d in the summary, finds %d", page.Total, sum.TotalEntries, found.Total)
		}
		all := asJSON(page) + asJSON(sum) + asJSON(found)
		for who := range p.own {
			if leaks := strings.Contains(all, "secret of the "+who); leaks != (who == p.role) {
				t.Errorf("secret of the %s is there: %v", who, leaks)
			}
		}
		for vis, who := range map[Visibility]string{PosterOnly: "poster", WorkerOnly: "worker"} {
			page, err := p.w.Entries(ctx, p.c, p.id, EntryQuery{Visibility: vis})
			if wants := map[bool]int{true: 1}[who == p.role]; err != nil || page.Total != wants || len(page.Entries) != wants {
				t.Errorf("%s: %d entries (%v)", vis, page.Total, err)
			}
		}
	}
	// For a party the other's private entry does not exist, to the letter of the
	// answer.
	for who, e := range p.own {
		_, err := p.w.Entry(ctx, p.c, p.id, e.EntryID)
		_, none := p.w.Entry(ctx, p.c, p.id, "mem_000000000000")
		if who == p.role {
			wantCode(t, "own private entry", err, 0)
		} else if err == nil || none == nil || err.Error() != none.Error() || CodeOf(err) != CodeOf(none) {
			t.Errorf("private entry of the %s: %v; one that is not there: %v", who, err, none)
		}
	}
	want = 0
	switch {
	case p.role == "nobody":
		want = Unauthenticated
	case !inside:
		want = NotFound
	}
	_, err = p.w.Get(ctx, p.c, p.id)
	wantCode(t, "contract", err, want)
	_, err = p.w.Entries(ctx, p.c, p.id, EntryQuery{RequesterAgentID: "somebody-else"})
	wantCode(t, "entries in another's name", err, map[bool]Code{true: Unauthenticated, false: Forbidden}[p.role == "nobody"])
}

// writes tries every write of entries. Moves have a table of their own.
func (p *permission) writes() {
	for _, vis := range []Visibility{Shared, PosterOnly, WorkerOnly} {
		var want Code
		switch {
		case p.role == "nobody":
			want = Unauthenticated
		case p.role == "stranger" && !p.named:
			want = NotFound
		case !p.in("poster", "worker"), vis == PosterOnly && p.role != "poster", vis == WorkerOnly && p.role != "worker":
			want = Forbidden
		case p.status.Final():
			want = Conflict
		}
		// An entry of one role must not be visible to the next.
		before := p.w.texts(Caller{PubKey: anna.Pub}, p.id) + p.w.texts(Caller{PubKey: will.Pub}, p.id)
		if want != 0 {
			_, err := p.w.Say(p.t.Context(), p.c, p.id, EntryRequest{Type: "message", Visibility: vis, Content: "intruder"})
			wantCode(p.t, "write "+string(vis), err, want)
			if after := p.w.texts(Caller{PubKey: anna.Pub}, p.id) + p.w.texts(Caller{PubKey: will.Pub}, p.id); after != before {
				p.t.Errorf("the thread became %q", after)
			}
		}
		_, err := p.w.Say(p.t.Context(), p.c, p.id, EntryRequest{Type: "message", Visibility: vis, Content: "x", AuthorAgentID: "another"})
		if want == 0 {
			want = Forbidden
		}
		if code := CodeOf(err); code != want && code != Forbidden {
			p.t.Errorf("%s in another's name: %v", vis, err)
		}
	}
}

// TestStrangersThreads: of two threads under the same id, one of a stranger and
// imported, neither sees the other's entries, counts, states or locks.
func TestStrangersThreads(t *testing.T) {
	w := newWorld(t)
	posts, works, strange := w.provision("anna", anna), w.provision("will", will), w.provision("mara", mara)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	w.say(works, id, "message", Shared, "ours")
	trap := w.stateOf(mara, id, will.Pub, niptemp.Open, "", "a trap")
	w.clock.Add(second)
	theirs, end := w.entryOf(mara, id, will.Pub, "message", "theirs"), w.stateOf(mara, id, will.Pub, niptemp.Cancelled, niptemp.Open, "a trap")
	for _, ev := range []*nostr.Event{trap, theirs, end} {
		if a := w.put(ev); a.Message() != store.WhyTaken.Error() {
			t.Errorf("kind %d: %+v", ev.Kind, a)
		}
		if r := w.store.Put(t.Context(), ev, store.PutOptions{Import: true}); !r.Outcome.OK() {
			t.Fatalf("%+v", r)
		}
	}
	for name, c := range map[string]Caller{"poster": posts, "worker": works, "nobody": {}} {
		if got := w.texts(c, id); got != "ours" {
			t.Errorf("%s reads %q", name, got)
		}
		if sum := must[Summary](t)(w.Summary(t.Context(), c, id)); sum.TotalEntries != 1 {
			t.Errorf("%s counts %d", name, sum.TotalEntries)
		}
	}
	if got := w.texts(strange, id); got != "theirs" {
		t.Errorf("the stranger reads %q", got)
	}
	if got := must[Contract](t)(w.Get(t.Context(), works, id)); got.Status != niptemp.Accepted || got.PosterPubKey != anna.Pub {
		t.Errorf("the worker's contract is %+v", got)
	}
	w.clock.Add(second)
	w.say(works, id, "message", Shared, "still open")
	wantCode(t, "submit", w.move(works, id, niptemp.Submitted), 0)
}

// TestPrivateEntriesStaySealed: a private text is in no answer but its
// author's.
func TestPrivateEntriesStaySealed(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	const secret = "xylophone-archive"
	e := must[Entry](t)(w.Say(t.Context(), posts, id, EntryRequest{
		Type: "note", Visibility: PosterOnly, Content: "check the " + secret, Attachments: []string{"https://example.com/" + secret},
	}))
	if e.NostrEventID != nil || e.Attachments[0] != "https://example.com/"+secret || e.Event != nil {
		t.Errorf("%+v", e)
	}
	wantNowhere(t, w, secret)
	if got := must[SearchPage](t)(w.Search(t.Context(), posts, id, SearchRequest{Query: "xylophone"})); got.Total != 1 {
		t.Errorf("its author finds %d", got.Total)
	}
	w.sealer.off = Refuse(Unavailable, "contracts.master_key is off")
	wantCode(t, "private without a master key", errOf(w.Say(t.Context(), posts, id, EntryRequest{Type: "note", Visibility: PosterOnly, Content: "x"})), Unavailable)
	wantCode(t, "reading private ones without", errOf(w.Entries(t.Context(), posts, id, EntryQuery{Visibility: PosterOnly})), Unavailable)
	wantCode(t, "provisioning without", errOf(w.Provision(t.Context(), Caller{PubKey: oper.Pub, Operator: true}, "new")), Unavailable)
	wantCode(t, "shared without", errOf(w.Say(t.Context(), posts, id, EntryRequest{Type: "note", Content: "x"})), 0)
}

// TestIdentities checks who may do what with names and keys.
func TestIdentities(t *testing.T) {
	w := newWorld(t)
	ctx, held := t.Context(), w.provision("anna", anna)
	wantCode(t, "provision by nobody", errOf(w.Provision(ctx, Caller{}, "new")), Unauthenticated)
	wantCode(t, "provision by an agent", errOf(w.Provision(ctx, held, "new")), Forbidden)
	wantCode(t, "provision", errOf(w.Provision(ctx, Caller{Operator: true}, "new")), 0)
	for _, name := range []string{"", "a b", strings.Repeat("x", 65), mara.Pub, strings.ToUpper(mara.Pub), "ä"} {
		wantCode(t, "provision "+name, errOf(w.Provision(ctx, Caller{Operator: true}, name)), Invalid)
		wantCode(t, "bind "+name, errOf(w.Bind(ctx, holder(mara), name, mara.Pub)), Invalid)
	}
	wantCode(t, "bind another's key", errOf(w.Bind(ctx, holder(mara), "mara", will.Pub)), Forbidden)
	wantCode(t, "bind", errOf(w.Bind(ctx, holder(mara), "mara", mara.Pub)), 0)
	wantCode(t, "bind a name that is taken", errOf(w.Bind(ctx, holder(will), "mara", will.Pub)), Conflict)
	for _, id := range []string{"mara", mara.Pub} {
		if got := must[Identity](t)(w.Identity(ctx, id)); got.PubKey != mara.Pub {
			t.Errorf("%s is %+v", id, got)
		}
	}
	wantCode(t, "unknown", errOf(w.Identity(ctx, "whoever")), NotFound)
	wantCode(t, "claim by another", errOf(w.Claim(ctx, holder(mara), "anna")), Forbidden)
	wantCode(t, "claim of a key not held", errOf(w.Claim(ctx, Caller{PubKey: mara.Pub, AgentID: "mara"}, "mara")), Conflict)
	wantCode(t, "claim by nobody", errOf(w.Claim(ctx, Caller{}, "anna")), Unauthenticated)
	wantCode(t, "claim", errOf(w.Claim(ctx, held, "anna")), 0)
}
