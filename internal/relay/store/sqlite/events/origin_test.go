package events_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// origin is a store whose commands are recorded, under a random load of every
// kind.
type origin struct {
	t        *testing.T
	s        *sqlite.Store
	o        sqlite.Options
	clock    *storetest.Clock
	rnd      *rand.Rand
	events   *script
	recorded []store.Executed
	last     int64 // created_at of contract events
	n        int
	begin    func()           // opens it, nil: as a store that is alone
	set      func(store.Live) // changes its options, nil: as one that is alone
	mark     []byte           // the mark file of the start before; nil: none is kept
	empty    string           // a copy of the database as it was made: it has a random value of its own
}

func newOrigin(t *testing.T, seed uint64) *origin {
	t.Helper()
	g := &origin{t: t, clock: storetest.NewClock(), rnd: rand.New(rand.NewPCG(seed, 1))}
	g.events = &script{rnd: g.rnd, people: []storetest.Key{alice, bob, carol}, expire: func(kind int) bool { return true }}
	g.o = storetest.Options(t, func(o *sqlite.Options) {
		o.Clock, o.Versions, o.Days, o.ContractDays = g.clock.Now, 2, 1, 1
		o.Quota = store.Quota{Events: 60}
		o.Retention = []retention.Rule{{Kinds: []retention.Range{{From: 30023, To: 30023}}, Count: 1}}
	}, events.Recording(func(e store.Executed) { g.recorded = append(g.recorded, e) }), marked)
	g.open()
	g.mark = readFile(t, g.o.Mark)
	g.empty = filepath.Join(t.TempDir(), "empty.db")
	if err := g.s.Backup(t.Context(), g.empty); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *origin) open() {
	g.t.Helper()
	if g.begin != nil {
		g.begin()
		return
	}
	var err error
	if g.s, err = sqlite.Open(g.t.Context(), g.o); err != nil {
		g.t.Fatal(err)
	}
}

func (g *origin) close() {
	g.t.Helper()
	if err := g.s.Close(); err != nil {
		g.t.Fatal(err)
	}
}

func (g *origin) put(evs ...*nostr.Event) {
	g.t.Helper()
	release := events.HoldWriter(g.s)
	var all []store.Pending
	for _, ev := range evs {
		o := store.PutOptions{Import: g.rnd.IntN(4) == 0, Forward: []string{"wss://one", "wss://two"}[:g.rnd.IntN(3)]}
		if g.rnd.IntN(4) == 0 {
			o = store.PutOptions{Replica: true, Past: g.rnd.IntN(2) == 0}
		}
		p, err := g.s.Begin(g.t.Context(), ev, o)
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, p)
	}
	release()
	for _, p := range all {
		if r := p.Wait(); r.Outcome == store.Failed {
			g.t.Fatal(r.Err)
		}
	}
}

// step does something, which may be refused.
func (g *origin) step() {
	g.n++
	contract := fmt.Sprint("contract ", g.rnd.IntN(3))
	poster, worker := g.events.person(), g.events.person()
	switch g.rnd.IntN(10) {
	case 0, 1, 2, 3:
		var evs []*nostr.Event
		for range 1 + g.rnd.IntN(12) {
			evs = append(evs, g.events.next())
		}
		g.put(evs...)
	case 4, 5:
		g.contract(contract, poster, worker)
	case 6:
		g.identities(poster, worker)
	case 7:
		g.outbox(contract, poster, worker)
	case 8:
		g.operate(poster)
	case 9:
		g.time()
	}
}

func (g *origin) contract(contract string, poster, worker storetest.Key) {
	g.last++
	moves := [][2]string{{"", "open"}, {"open", "accepted"}, {"accepted", "active"}, {"active", "completed"}, {"active", "disputed"}, {"open", "cancelled"}}
	move := moves[g.rnd.IntN(len(moves))]
	g.put(poster.State(worker, g.last, contract, move[0], move[1]), poster.Entry(worker, g.last, contract, "said"), worker.State(poster, g.last, contract, "open", "accepted"))
	ctx, p := g.t.Context(), &store.ContractPair{Contract: contract, Poster: poster.Pub, Worker: worker.Pub}
	e := store.ThreadEntry{Author: poster.Pub, Other: worker.Pub, CreatedAt: g.last, ID: []byte(fmt.Sprintf("%06d", g.n)), Type: "note", Entry: fmt.Sprint("mem_", g.n%7), Data: []byte("sealed")}
	_ = g.s.Tell(ctx, store.AddPrivateEntry{Contract: contract, Entry: e, Most: 9})
	waits := e
	waits.ID = fmt.Appendf(nil, "%032d", g.n)
	_ = g.s.Tell(ctx, store.AddWaitingEntry{Contract: contract, Entry: waits})
	_ = g.s.Tell(ctx, store.SetContractTerms{Contract: contract, Poster: poster.Pub, Worker: worker.Pub, Terms: store.ContractTerms{Deadline: 5, Arbitrator: carol.Pub}})
	_ = g.s.Tell(ctx, store.LookAtDeadline{Contract: p.Contract, Poster: p.Poster, Worker: p.Worker, At: int64(g.n)})
	_ = g.s.Tell(ctx, store.DecideContract{Contract: p.Contract, Poster: p.Poster, Worker: p.Worker, Decision: store.ContractDecision{Was: "disputed", Status: "completed", By: "operator", At: g.clock.Now().Unix()}})
}

func (g *origin) identities(who, other storetest.Key) {
	ctx, name := g.t.Context(), fmt.Sprint("agent", g.rnd.IntN(3))
	sealed := []byte(nil)
	if g.rnd.IntN(2) == 0 {
		sealed = []byte("sealed")
	}
	_, _ = g.s.AddAgent(ctx, store.Agent{ID: name, PubKey: who.Pub, Sealed: sealed}, [32]byte{byte(g.n)})
	_ = g.s.Tell(ctx, store.ReplaceToken{ID: name, Hash: [32]byte{1, byte(g.n)}})
	_, _ = g.s.SetVaultCheck(ctx, fmt.Appendf(nil, "check %d", g.n))
	_ = g.s.SetRelayKey(ctx, other.Pub, g.n%5 == 0)
	_, _ = g.s.RevokeRelayKey(ctx, who.Pub)
	switch g.rnd.IntN(4) {
	case 0:
		_ = g.s.Tell(ctx, store.DropTokens{ID: name})
	case 1:
		_ = g.s.Tell(ctx, store.ForgetKey{ID: name, Sealed: []byte("sealed")})
	case 2:
		_ = g.s.Tell(ctx, store.DropAgent{ID: name, WithKey: true})
	}
	_, _ = g.s.UseCalls(ctx, []store.UsedCall{{ID: g.events.next().ID, Key: who.Pub, At: g.clock.Now().Unix()}}, g.clock.Now().Unix()-30)
}

func (g *origin) outbox(contract string, poster, worker storetest.Key) {
	ctx := g.t.Context()
	ev := poster.Entry(worker, int64(g.n), contract, "to others")
	_ = g.s.Follow(ctx, "wss://one", store.Place{Number: int64(g.n), Time: 5})
	_ = g.s.Tell(ctx, store.QueueEvent{Event: wire.AppendEvent(nil, ev), Targets: []string{"wss://one", "wss://two", ""}})
	_ = g.s.OutboxRefused(ctx, "wss://one", ev, "blocked", g.n%2 == 0)
	if items, err := g.s.Outbox(ctx, "wss://two", 0, 3); err == nil && len(items) > 0 {
		_ = g.s.Tell(ctx, store.OutboxDone{Target: "wss://two", Numbers: []int64{items[0].N}})
	}
	switch g.rnd.IntN(4) {
	case 0:
		_ = g.s.Tell(ctx, store.OutboxWithdraw{EventID: ev.ID})
	case 1:
		_, _ = g.s.OutboxForget(ctx, "wss://one")
	case 2:
		_ = g.s.Tell(ctx, store.OutboxKeep{Targets: []string{"wss://two"}})
	}
}

func (g *origin) operate(who storetest.Key) {
	ctx := g.t.Context()
	ev := g.events.next()
	_ = g.s.Administer(ctx, &store.AdminEntry{List: store.AdminEvents, Key: ev.ID, Verdict: store.AdminBanned}, store.AdminCall{
		Key: who.Pub, Auth: ev.ID, Method: "banevent", Outcome: "ok"})
	switch g.rnd.IntN(4) {
	case 0:
		_, _ = g.s.RemoveMatching(ctx, gate.Operator(), []nostr.Filter{{Kinds: []int{1, 30174}, Authors: []string{who.Pub}}})
	case 1:
		live := g.o.Live
		live.Quota.Events = int64(30 + g.rnd.IntN(60))
		if g.set != nil {
			g.set(live)
			break
		}
		if err := g.s.SetOptions(ctx, live); err != nil {
			g.t.Fatal(err)
		}
		g.o.Live = live
	default:
		g.restore(who)
	}
}

func (g *origin) restore(who storetest.Key) {
	ctx, name := g.t.Context(), fmt.Sprint("restore ", g.n)
	r, err := g.s.BeginRestore(store.RestoreOptions{Mode: store.Rollback, Agent: who.Pub, Name: name, AsOf: storetest.Start.Unix() + int64(g.rnd.IntN(40))})
	if err != nil {
		g.t.Fatal(err)
	}
	for range 5 {
		if ev := g.events.next(); ev.PubKey == who.Pub && ev.Kind == 30174 {
			if err := r.Add(ctx, store.Part(g.rnd.IntN(2)), ev); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	if _, err := r.Switch(ctx); err != nil {
		g.t.Fatal(err)
	}
	switch g.rnd.IntN(3) {
	case 0:
		_, _ = g.s.ReleaseQuarantine(ctx, name)
	case 1:
		_ = g.s.DropQuarantine(ctx, name)
	}
}

// time lets time pass, or the store end and begin again.
func (g *origin) time() {
	switch g.rnd.IntN(4) {
	case 0:
		g.close()
		if g.mark != nil {
			g.mark = earlierMark(g.t, g.o, g.mark)
		}
		g.open()
	case 1:
		g.clock.Add(time.Duration(g.rnd.IntN(30)) * time.Hour)
	case 2:
		g.clock.Add(5 * time.Second)
	}
	if err := g.s.Sweep(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
}

// surely does what must not be refused, of what mostly is.
func (g *origin) surely() {
	ctx, poster, worker := g.t.Context(), storetest.NewKey("poster"), storetest.NewKey("worker")
	must := func(err error) {
		g.t.Helper()
		if err != nil {
			g.t.Fatal(err)
		}
	}
	put(g.t, g.s, poster.State(worker, 1, "sure", "", "open"), store.Stored)
	put(g.t, g.s, worker.State(poster, 2, "sure", "open", "accepted"), store.Stored)
	e := store.ThreadEntry{Author: poster.Pub, Other: worker.Pub, CreatedAt: 3, ID: []byte("sixsix"), Type: "note", Entry: "mem_1", Data: []byte("sealed")}
	must(g.s.Tell(ctx, store.AddPrivateEntry{Contract: "sure", Entry: e, Most: 9}))
	p := &store.ContractPair{Contract: "sure", Poster: poster.Pub, Worker: worker.Pub}
	ev := poster.Entry(worker, 4, "sure", "on its way")
	must(g.s.Tell(ctx, store.QueueEvent{Event: wire.AppendEvent(nil, ev), Targets: []string{"wss://one"}}))
	must(g.s.Tell(ctx, store.OutboxWithdraw{EventID: ev.ID}))
	must(g.s.Tell(ctx, store.DecideContract{Contract: p.Contract, Poster: p.Poster, Worker: p.Worker, Decision: store.ContractDecision{Was: "accepted", Status: "cancelled", By: "operator", At: g.clock.Now().Unix()}}))
	for name, drop := range map[string]func(name string) error{
		"tokens": func(name string) error { return g.s.Tell(ctx, store.DropTokens{ID: name}) },
		"key":    func(name string) error { return g.s.Tell(ctx, store.ForgetKey{ID: name, Sealed: []byte("sealed")}) },
		"agent":  func(name string) error { return g.s.Tell(ctx, store.DropAgent{ID: name, WithKey: true}) },
	} {
		_, err := g.s.AddAgent(ctx, store.Agent{ID: name, PubKey: storetest.NewKey(name).Pub, Sealed: []byte("sealed")}, sha256.Sum256([]byte(name)))
		must(err)
		must(g.s.Tell(ctx, store.ReplaceToken{ID: name, Hash: sha256.Sum256([]byte(name + " again"))}))
		must(drop(name))
	}
	for _, name := range []string{"released", "dropped"} {
		for i := range int64(3) {
			g.s.Put(ctx, poster.Engram(worker, 20+i, fmt.Sprint("slug ", i)), store.PutOptions{Import: true})
		}
		r, err := g.s.BeginRestore(store.RestoreOptions{Mode: store.Rollback, Agent: poster.Pub, Name: name, AsOf: storetest.Start.Unix()})
		must(err)
		must(r.Add(ctx, store.Heads, poster.Engram(worker, 1, "slug 1")))
		_, err = r.Switch(ctx)
		must(err)
		if name == "released" {
			_, err = g.s.ReleaseQuarantine(ctx, name)
			must(err)
		}
	}
	must(g.s.DropQuarantine(ctx, "dropped"))
	for i := range int64(3) {
		g.s.Put(ctx, poster.Fake(30023, i, "article", nostr.Tag{"d", fmt.Sprint(i)}), store.PutOptions{Import: true})
	}
	_, err := g.s.OutboxForget(ctx, "wss://one")
	must(err)
	must(g.s.Tell(ctx, store.OutboxKeep{Targets: []string{"wss://two"}}))
	must(g.s.Sweep(ctx))
	removed, err := g.s.RemoveMatching(ctx, gate.Operator(), []nostr.Filter{{Kinds: []int{30174}, Authors: []string{poster.Pub}}})
	if must(err); removed.Events[30174] == 0 {
		g.t.Fatalf("nothing was removed: %+v", removed)
	}
}

// large has one author delete, and one vanish, more than one transaction does,
// with others' writes in between.
func (g *origin) large() {
	many := storetest.NewKey("many")
	var ids []string
	release := events.HoldWriter(g.s)
	var all []store.Pending
	for i := range events.VanishChunk + 300 {
		ev := many.Note(int64(i), fmt.Sprintf("%s %01000d", g.t.Name(), i), nostr.Tag{"p", bob.Pub})
		ids = append(ids, ev.ID)
		p, err := g.s.Begin(g.t.Context(), ev, store.PutOptions{Import: true})
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, p)
	}
	release()
	for _, p := range all {
		p.Wait()
	}
	for _, ev := range []*nostr.Event{many.Delete(5000, ids[:600]...), many.Vanish(5001)} {
		p, err := g.s.Begin(g.t.Context(), ev, store.PutOptions{Import: true})
		if err != nil {
			g.t.Fatal(err)
		}
		for range 3 {
			g.step()
		}
		p.Wait()
	}
}
