package events_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

// several gives the commands of one store an order, which others follow later.
type several struct {
	mu     sync.Mutex
	s      *sqlite.Store
	clock  func() time.Time
	placed []store.Placed // as they were given, without tickets
	number uint64
	leads  bool

	state, durable state
	last           []store.Done
	done           []store.Done // durable
	halted         error
}

// state is what a store notes with its transactions.
type state struct {
	place store.LogPlace
	hash  [32]byte
	n     int
}

func (s state) with(done []store.Done) state {
	for _, d := range done {
		s.hash = sha256.Sum256(fmt.Appendf(nil, "%x %v %v %x", s.hash, d.Place, d.Outcome, d.Digest))
		s.place, s.n = d.Place, s.n+1
	}
	return s
}

func (o *several) Append(ctx context.Context, c store.Command, t store.Ticket) error {
	raw, err := store.AppendCommand(nil, store.Executed{Command: c})
	if err != nil {
		return err
	}
	e, err := store.ParseCommand(raw) // others get their own copy
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.number++
	p := store.Placed{Place: store.LogPlace{Number: o.number}, At: o.clock().Unix(), Command: e.Command}
	o.placed = append(o.placed, p)
	p.Ticket = t
	return o.s.Execute(ctx, []store.Placed{p})
}

func (o *several) State(done []store.Done) []byte {
	o.state, o.last = o.durable.with(done), done
	return fmt.Appendf(nil, "%d %d %d %x", o.state.place.Number, o.state.place.Index, o.state.n, o.state.hash)
}

func (o *several) Durable() {
	o.durable, o.done = o.state, append(o.done, o.last...)
}

func (o *several) Halt(err error)                            { o.halted = err }
func (o *several) Leads() bool                               { return o.leads }
func (o *several) Lease(ctx context.Context) context.Context { return ctx }

// open opens a store that is one of several, behind what it has executed.
func (o *several) open(t *testing.T, options sqlite.Options) {
	t.Helper()
	options.Sequenced = true
	s, err := sqlite.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.SequenceState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.durable = state{}
	if b != nil {
		var hash []byte
		if _, err := fmt.Sscanf(string(b), "%d %d %d %x", &o.durable.place.Number, &o.durable.place.Index, &o.durable.n, &hash); err != nil {
			t.Fatal(err)
		}
		o.durable.hash = [32]byte(hash)
	}
	o.s = s
	s.Join(o)
}

// inOrder makes an origin of a store that is one of several.
func inOrder(t *testing.T, seed uint64) (*origin, *several) {
	t.Helper()
	o := &several{leads: true}
	g := newOrigin(t, seed)
	g.close()
	g.recorded = nil
	if err := os.WriteFile(g.o.Path, readFile(t, g.empty), 0o600); err != nil {
		t.Fatal(err)
	}
	o.clock = g.clock.Now
	g.begin = func() { o.open(t, g.o); g.s = o.s }
	g.set = func(live store.Live) {
		if err := o.Append(t.Context(), store.Configure{Live: live}, nil); err != nil {
			t.Fatal(err)
		}
	}
	g.open()
	g.set(g.o.Live)
	return g, o
}

// follow executes what has an order on another store, in pieces, with restarts
// from what it noted last, and returns its rows and its state.
func (o *several) follow(t *testing.T, g *origin, batch int, seed uint64) ([]string, state) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 7))
	f := &several{clock: g.clock.Now}
	options := storetest.Options(t, func(so *sqlite.Options) {
		zone := time.FixedZone("elsewhere", 5*3600+1800)
		so.Clock = func() time.Time { return time.Unix(1_900_000_000, 0).In(zone) }
		so.MaxBatch = batch
	})
	if err := os.WriteFile(options.Path, readFile(t, g.empty), 0o600); err != nil {
		t.Fatal(err)
	}
	f.open(t, options)
	for next := 0; next < len(o.placed); {
		k := min(len(o.placed)-next, 1+rnd.IntN(1+len(o.placed)/3))
		fail := rnd.IntN(3) == 0
		if fail {
			events.BreakCommits(f.s)
		}
		err := f.s.Execute(t.Context(), o.placed[next:next+k])
		if err != nil && !fail {
			t.Fatal(err)
		}
		if err := f.s.Close(); err != nil && !fail {
			t.Fatal(err)
		}
		if fail && f.halted == nil && err == nil {
			t.Fatal("a COMMIT failed, and nothing was halted")
		}
		f.halted = nil
		f.open(t, options)
		next = int(f.durable.place.Number) // numbers begin at 1, and each message has one command
	}
	defer f.s.Close()
	for i, d := range f.done {
		if i < len(o.done) && d != o.done[i] {
			t.Errorf("%v for %.300v, %v before", d.Outcome, o.placed[d.Place.Number-1].Command, o.done[i].Outcome)
			break
		}
	}
	wantWhole(t, f.s)
	return dump(t, f.s), f.durable
}

// Stores that execute one order of commands have the same rows, outcomes and
// state, however many commands share a transaction, and where they begin again.
func TestOneOrderGivesTheSameRows(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g, o := inOrder(t, seed)
	for range 60 {
		g.step()
	}
	g.surely()
	g.large()
	for range 30 {
		g.step()
	}
	g.close()
	o.leads = false // nothing more is given while it is looked at
	g.open()
	want, wantState := dump(t, g.s), o.durable
	wantWhole(t, g.s)
	g.close()
	if o.halted != nil {
		t.Fatal(o.halted)
	}
	kinds := map[string]int{}
	for _, p := range o.placed {
		kinds[fmt.Sprintf("%T", p.Command)]++
	}
	for _, c := range []store.Command{store.SubmitEvent{}, store.PutEvent{}, store.PutCopy{}, store.Housekeep{}, store.Retire{}, store.SwitchState{}, store.Tighten{}} {
		if kinds[fmt.Sprintf("%T", c)] == 0 {
			t.Errorf("seed %d: there was no %T", seed, c)
		}
	}
	if n := kinds["store.GoOn"]; n > 0 {
		t.Errorf("%d steps of work were commands", n)
	}
	sizes := []int{1, 7, 512}
	if testing.Short() {
		sizes = []int{7}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("%d to a transaction", n), func(t *testing.T) {
			got, state := o.follow(t, g, n, seed)
			if state != wantState {
				t.Errorf("seed %d: the state is %+v, want %+v", seed, state, wantState)
			}
			if i := firstDifference(got, want); i >= 0 {
				t.Fatalf("seed %d: of %d rows, %d here, row %d differs:\n%.300s\n%.300s", seed, len(want), len(got), i, at(got, i), at(want, i))
			}
		})
	}
}

// A database that is one of several opens alone once it has left, and not before.
func TestLeavingTheOrder(t *testing.T) {
	o := &several{clock: storetest.NewClock().Now}
	options := storetest.Options(t)
	o.open(t, options)
	if r := o.s.Put(t.Context(), alice.Note(1, "x"), store.PutOptions{}); r.Outcome != store.Stored {
		t.Fatal(r.Err)
	}
	o.s.Close()
	if s, err := sqlite.Open(t.Context(), options); !errors.Is(err, store.ErrShared) {
		t.Errorf("%v, %v", s, err)
	}
	o.open(t, options)
	if err := o.s.LeaveSequence(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.s.Close()
	s, err := sqlite.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, alice.Note(1, "x"), store.Duplicate)
	put(t, s, alice.Note(2, "y"), store.Stored)
}

// The lists are asked at an event's place, of clients' events alone.
func TestAdmissionAtThePlace(t *testing.T) {
	banned := nip01.Refuse(nip01.PrefixBlocked, "not today")
	var seen []string
	o := &several{clock: storetest.NewClock().Now}
	var changed []store.Command
	o.open(t, storetest.Options(t, func(so *sqlite.Options) {
		so.Changed = func(c store.Command) { changed = append(changed, c) }
		so.Admit = func(ev *nostr.Event, vouched []string, ask store.Admitting) (*nip01.Refusal, error) {
			seen = append(seen, fmt.Sprint(ev.Content, vouched))
			if yes, err := ask.Approved([]string{alice.Pub}, bob.Pub); err != nil || yes {
				return nil, errors.New("nobody approved anybody")
			}
			if yes, err := ask.Provisioned(alice.Pub); err != nil || yes {
				return nil, errors.New("nobody was provisioned")
			}
			if ev.PubKey == carol.Pub {
				return banned, nil
			}
			return nil, nil
		}
	}))
	defer o.s.Close()
	if r := o.s.Put(t.Context(), alice.Note(1, "hers"), store.PutOptions{Vouched: []string{"x"}}); r.Outcome != store.Stored {
		t.Errorf("%v %v", r.Outcome, r.Err)
	}
	if r := o.s.Put(t.Context(), carol.Note(1, "banned"), store.PutOptions{}); r.Outcome != store.Refused || !r.Why.Is(banned) {
		t.Errorf("%v %v", r.Outcome, r.Why)
	}
	if r := o.s.Put(t.Context(), carol.Note(2, "import"), store.PutOptions{Import: true}); r.Outcome != store.Stored {
		t.Errorf("%v %v", r.Outcome, r.Err)
	}
	if want := "[hers[x] banned[]]"; fmt.Sprint(seen) != want {
		t.Errorf("asked %v, want %s", seen, want)
	}
	ban := &store.AdminEntry{List: store.AdminPubkeys, Key: carol.Pub, Verdict: store.AdminBanned}
	if err := o.s.Administer(t.Context(), ban, store.AdminCall{Key: alice.Pub, Auth: alice.Note(9, "call").ID, Method: "banpubkey", Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	if len(changed) != 1 {
		t.Errorf("%d changes told", len(changed))
	}
	if o.halted != nil {
		t.Error(o.halted)
	}
}

// A refused command is an answer, and its place is noted; a store that cannot
// execute executes nothing more, and says so to who waits.
func TestWhatHalts(t *testing.T) {
	o := &several{clock: storetest.NewClock().Now}
	options := storetest.Options(t)
	o.open(t, options)
	if err := o.s.Tell(t.Context(), store.DropAgent{ID: "nobody", WithKey: true}); err == nil {
		t.Log("dropping nobody is no error")
	}
	if _, err := o.s.ReleaseQuarantine(t.Context(), "no such"); err == nil || o.halted != nil {
		t.Errorf("%v, halted by %v", err, o.halted)
	}
	if o.durable.place.Number != o.number {
		t.Errorf("noted up to %+v of %d", o.durable.place, o.number)
	}
	allow := events.BreakCommits(o.s)
	if r := o.s.Put(t.Context(), alice.Note(1, "x"), store.PutOptions{}); r.Outcome != store.Failed {
		t.Errorf("%v", r.Outcome)
	}
	if o.halted == nil {
		t.Error("nothing was halted")
	}
	allow()
	if r := o.s.Put(t.Context(), alice.Note(2, "y"), store.PutOptions{}); r.Outcome != store.Failed {
		t.Errorf("after that: %v", r.Outcome)
	}
	before := o.durable
	o.s.Close()
	o.halted = nil
	o.open(t, options)
	defer o.s.Close()
	if o.durable != before {
		t.Errorf("begins at %+v, want %+v", o.durable, before)
	}
	if err := o.s.Execute(t.Context(), o.placed[o.durable.place.Number:]); err != nil {
		t.Fatal(err)
	}
	if r := o.s.Put(t.Context(), alice.Note(2, "y"), store.PutOptions{}); r.Outcome != store.Duplicate {
		t.Errorf("executed again: %v %v", r.Outcome, r.Err)
	}
}

// A request that takes more than one transaction is done before the next
// command, also where both come together: what follows is judged by what it left.
func TestAVanishIsCompleteForTheNextCommand(t *testing.T) {
	o := &several{clock: storetest.NewClock().Now}
	o.open(t, storetest.Options(t))
	defer o.s.Close()
	many := storetest.NewKey("many")
	var all []store.Placed
	add := func(c store.Command) {
		o.number++
		all = append(all, store.Placed{Place: store.LogPlace{Number: o.number}, At: storetest.Start.Unix(), Command: c})
	}
	json := func(ev *nostr.Event) []byte { return wire.AppendEvent(nil, ev) }
	add(store.Configure{Live: store.Live{Quota: store.Quota{Events: 10}}})
	for i := range events.VanishChunk + 100 {
		add(store.PutEvent{Event: json(many.Fake(1, int64(i), "text")), Import: true})
	}
	add(store.SubmitEvent{Event: json(many.Vanish(50_000))})
	add(store.SubmitEvent{Event: json(many.Fake(1, 60_000, "after"))})
	o.placed = all
	release := events.HoldWriter(o.s)
	if err := o.s.Execute(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	release()
	r := o.s.Put(t.Context(), many.Fake(1, 60_001, "and after"), store.PutOptions{})
	if n := len(o.done); n != len(all)+1 || o.done[n-2].Outcome != store.Stored || r.Outcome != store.Stored {
		t.Errorf("%d of %d commands, what came after was %v, then %v", n, len(all)+1, o.done[max(0, n-2)].Outcome, r.Outcome)
	}
	if v := storetest.Visible(t, o.s, nostr.Filter{Authors: []string{many.Pub}}); len(v) != 3 {
		t.Errorf("%d events of who vanished", len(v))
	}
}
