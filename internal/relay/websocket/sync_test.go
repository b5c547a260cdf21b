package websocket

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/nip77"
)

// notes puts n events that nobody looks at closely.
func (f *fake) notes(n int) (items []nip77.Item) {
	for i := range n {
		ev := big(i, 0)
		ev.CreatedAt = nostr.Timestamp(1_700_000_000 + i/3)
		f.put(ev)
		item := nip77.Item{CreatedAt: int64(ev.CreatedAt)}
		hex.Decode(item.ID[:], []byte(ev.ID))
		items = append(items, item)
	}
	return items
}

func setOf(t testing.TB, items []nip77.Item) *nip77.Set {
	t.Helper()
	set, err := nip77.NewSet(slices.Clone(items))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// emptyOpen asks on behalf of nobody who has anything.
func emptyOpen(id string) string { return `["NEG-OPEN","` + id + `",{"kinds":[1]},"6100000200"]` }

// negMsg returns the message of a NEG-MSG to id.
func (c *client) negMsg(id string) []byte {
	c.t.Helper()
	var frame []string
	text := c.recv()
	if err := json.Unmarshal([]byte(text), &frame); err != nil || len(frame) != 3 || frame[0] != "NEG-MSG" || frame[1] != id {
		c.t.Fatalf("got %.200s", text)
	}
	msg, err := hex.DecodeString(frame[2])
	if err != nil || len(frame[2]) > 60_000 {
		c.t.Fatalf("%d digits, %v", len(frame[2]), err)
	}
	return msg
}

// reconcile asks for what matches a filter until all is told.
func (c *client) reconcile(id, filter string, mine *nip77.Set) (have, need [][32]byte) {
	c.t.Helper()
	ask := nip77.NewInitiator(mine, 30_000)
	frame := fmt.Sprintf(`["NEG-OPEN","%s",%s,"%x"]`, id, filter, ask.Open())
	for {
		c.send(frame)
		next, h, n, err := ask.Next(c.negMsg(id))
		if err != nil {
			c.t.Fatal(err)
		}
		have, need = append(have, h...), append(need, n...)
		if next == nil {
			return have, need
		}
		frame = fmt.Sprintf(`["NEG-MSG","%s","%x"]`, id, next)
	}
}

func (c *client) expectNegErr(id, text string) {
	c.t.Helper()
	if got := c.recv(); !strings.HasPrefix(got, `["NEG-ERR","`+id+`","`+text) {
		c.t.Fatalf("got %.300s, want %s", got, text)
	}
}

// endsUnder shuts the relay down, which the client of a reconciliation is told.
func (r *rig) endsUnder(t testing.TB, c *client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	c.expectNegErr("s", "error: the relay is shutting down")
	r.idleSyncs(t)
}

// idleSyncs fails unless nothing of any reconciliation is held.
func (r *rig) idleSyncs(t testing.TB) {
	t.Helper()
	r.count.await(t, "syncs", 0)
	r.count.await(t, "sync bytes", 0)
	if n := r.syncing.Used(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

func TestReconciliation(t *testing.T) {
	f := &fake{}
	items := f.notes(5000)
	r := start(t, f, Options{})
	c := r.dial(t)
	mine := append(slices.Clone(items[:4000]), nip77.Item{CreatedAt: 5, ID: [32]byte{9}})
	have, need := c.reconcile("s", `{"kinds":[1]}`, setOf(t, mine))
	if len(have) != 1 || have[0] != [32]byte{9} || len(need) != 1000 {
		t.Errorf("have %d, need %d", len(have), len(need))
	}
	// What comes afterwards is no part of it: the set is fixed.
	f.put(event(t, alice, 1, "later"))
	c.send(fmt.Sprintf(`["NEG-MSG","s","%x"]`, nip77.NewInitiator(setOf(t, items), 30_000).Open()))
	if msg := c.negMsg("s"); len(msg) != 1 {
		t.Errorf("the set has changed: %x", msg)
	}
	_, need = c.reconcile("s", `{"kinds":[1]}`, setOf(t, items)) // again under the same id
	if len(need) != 1 || r.count.get("sync replaced") != 1 || r.count.get("syncs") != 1 {
		t.Errorf("need %d, replaced %d, open %d", len(need), r.count.get("sync replaced"), r.count.get("syncs"))
	}
	c.send(`["NEG-CLOSE","s"]`, `["NEG-CLOSE","s"]`, `["NEG-MSG","s","61"]`)
	c.expectNegErr("s", "closed: ")
	r.idleSyncs(t)
	if r.count.get("sync closed") != 1 {
		t.Error("the end is not counted")
	}
}

// TestReconciliationRefused: each is answered with NEG-ERR and the id, and leaves
// nothing behind.
func TestReconciliationRefused(t *testing.T) {
	auth := &nip01.Refusal{Prefix: nip01.PrefixAuthRequired, Text: "authenticate first"}
	for _, c := range []struct {
		name, frame, want string
		lim               SyncLimits
		change            func(*fake, *Options)
		challenge         bool
	}{
		{name: "switched off", want: "blocked: negentropy (NIP-77) is not served here", lim: SyncLimits{Off: true}},
		{name: "a limit", frame: `["NEG-OPEN","s",{"kinds":[1],"limit":10},"6100000200"]`, want: "invalid: "},
		{name: "a limit of nothing", frame: `["NEG-OPEN","s",{"kinds":[1],"limit":0},"6100000200"]`, want: "invalid: "},
		{name: "a search", frame: `["NEG-OPEN","s",{"kinds":[1],"search":"x"},"6100000200"]`, want: "invalid: "},
		{name: "an unknown key", frame: `["NEG-OPEN","s",{"kind":[1]},"6100000200"]`, want: "invalid: "},
		{name: "no negentropy", frame: `["NEG-OPEN","s",{"kinds":[1]},"6101"]`, want: "invalid: no negentropy message"},
		{name: "memory of others' length", frame: `["NEG-OPEN","s",{},"610000028fffffffff7f"]`, want: "invalid: no negentropy message"},
		{name: "too many events", want: "blocked: too many query results", lim: SyncLimits{Items: 99}},
		{name: "too many bytes of a share", want: `blocked: too many query results"]`, lim: SyncLimits{Share: 100 * holdsItem}},
		{name: "too many bytes", want: "error: the relay holds as many", lim: SyncLimits{Total: 100 * holdsItem}},
		{name: "a replica's events", want: "blocked: too many query results", lim: SyncLimits{Items: 1000, ReplicaItems: 99},
			change: func(_ *fake, o *Options) { o.Replica = func(gate.Reader) bool { return true } }},
		{name: "a replica's bytes", want: "error: the relay holds as many", lim: SyncLimits{Total: 100 * holdsItem},
			change: func(_ *fake, o *Options) { o.Replica = func(gate.Reader) bool { return true } }},
		{name: "an error of the store", want: "error: the relay could not read", change: func(f *fake, _ *Options) { f.failing = errors.New("secret") }},
		{name: "a read that takes too long", want: "blocked: too many query results to be read in time", change: func(f *fake, _ *Options) { f.failing = fmt.Errorf("read: %w", store.ErrTimeout) }},
		{name: "a read that is too dear", want: "blocked: too many query results to be read in time", change: func(f *fake, _ *Options) { f.failing = fmt.Errorf("read: %w", store.ErrEnded) }},
		{name: "the gate", want: "auth-required: authenticate first", challenge: true, change: func(f *fake, _ *Options) {
			f.authorize = func(_ context.Context, s gate.Surface, _ nostr.Filter) error {
				if s != gate.SurfaceSync {
					return errors.New("another surface")
				}
				return auth
			}
		}},
		{name: "too little memory", want: "error: the relay is short of memory", change: func(_ *fake, o *Options) { o.Pressed = func() bool { return true } }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, o := &fake{}, Options{Limits: Limits{Sync: c.lim}}
			f.notes(100)
			if c.change != nil {
				c.change(f, &o)
			}
			r := start(t, f, o)
			cl := r.dial(t)
			if c.frame == "" {
				c.frame = emptyOpen("s")
			}
			cl.send(c.frame)
			if c.challenge {
				cl.expect(`["AUTH","` + cl.challenge + `"]`)
			}
			cl.expectNegErr("s", c.want)
			r.idleSyncs(t)
			if strings.Contains(r.log.String(), "secret") {
				t.Error("the store's words are in the log")
			}
		})
	}
}

// TestAShareHasSoMuchOpen: what was refused beside another one is served alone.
func TestAShareHasSoMuchOpen(t *testing.T) {
	f := &fake{}
	f.notes(100)
	r := start(t, f, Options{Limits: Limits{Sync: SyncLimits{Share: holdsSync + 101*holdsItem}}})
	c := r.dial(t)
	c.send(emptyOpen("a"), emptyOpen("b"), `["NEG-CLOSE","a"]`, emptyOpen("b"))
	c.negMsg("a")
	c.expectNegErr("b", "blocked: too many query results together with")
	c.negMsg("b")
}

// TestReplicasReconcileMore: neither the bound of others nor that of a share
// holds for them.
func TestReplicasReconcileMore(t *testing.T) {
	f := &fake{}
	f.notes(100)
	r := start(t, f, Options{Replica: func(gate.Reader) bool { return true }, Limits: Limits{Sync: SyncLimits{Items: 5, Share: 10}}})
	c := r.dial(t)
	c.send(emptyOpen("s"))
	c.negMsg("s")
	if used := r.syncing.Used(); used != holdsSync+100*holdsItem {
		t.Errorf("%d bytes are held", used)
	}
	c.ws.Close()
	r.idleSyncs(t)
}

// TestReplicasGetTheirPart: however much others hold, who must give way for it.
// A set of a replica's does not keep the others from giving way to one another,
// and replicas alone cannot have all.
func TestReplicasGetTheirPart(t *testing.T) {
	f := &fake{}
	f.notes(100)
	all, small := int64(holdsSync+100*holdsItem), `["NEG-OPEN","s",{"ids":["`+big(1, 0).ID+`"]},"6100000200"]`
	r := start(t, f, Options{
		Replica: func(r gate.Reader) bool { return r.Has(pubkeyOf(t, alice)) },
		Limits:  Limits{Sync: SyncLimits{Total: 3 * all, Share: all}},
	})
	var others []*client
	for range 3 {
		others = append(others, r.dial(t))
		others[len(others)-1].send(emptyOpen("o"))
		others[len(others)-1].negMsg("o")
	}
	replica := r.dial(t)
	auth := r.authFor(t, alice, replica)
	replica.send(authFrame(auth), emptyOpen("r"))
	replica.expect(okFrame(auth))
	replica.negMsg("r")
	if n := r.count.get("sync memory"); n != 1 || r.syncing.Used() != 3*all {
		t.Fatalf("%d gave way, %d bytes are held", n, r.syncing.Used())
	}
	late := r.dial(t)
	late.send(small)
	late.negMsg("s")
	if n := r.count.get("sync memory"); n != 2 {
		t.Errorf("%d gave way", n)
	}
	replica.send(emptyOpen("more"))
	replica.expectNegErr("more", "error: the relay holds as many")
	replica.send(`["NEG-MSG","r","61"]`)
	replica.negMsg("r")
	for _, c := range append(others, late, replica) {
		c.ws.Close()
	}
	r.idleSyncs(t)
}

// TestAReconciliationEndsWithItsRules: under other ones its set may hold what is
// not for the reader any more. The same rules, read again, end nothing.
func TestAReconciliationEndsWithItsRules(t *testing.T) {
	table := func(o gate.Options) *gate.Table {
		made, err := gate.NewTable(o)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	f := &fake{}
	f.notes(10)
	listed := gate.Options{Replicas: []string{pubkeyOf(t, alice)}}
	for name, other := range map[string]gate.Options{
		"no replica": {}, "parties": {Replicas: listed.Replicas, Contracts: gate.ContractsParties}, "auth": {Replicas: listed.Replicas, AuthRequired: true},
		"ids": {Replicas: listed.Replicas, IDs: gate.IDsParty}, "wildcard": {Replicas: listed.Replicas, Wildcard: gate.WildcardExclude},
		"a kind": {Replicas: listed.Replicas, Rules: []string{"30079 author"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.table.Store(table(listed))
			r := start(t, f, Options{})
			c := r.dial(t)
			c.send(emptyOpen("s"))
			c.negMsg("s")
			f.table.Store(table(listed))
			c.send(`["NEG-MSG","s","61"]`)
			c.negMsg("s")
			f.table.Store(table(other))
			c.send(`["NEG-MSG","s","61"]`)
			c.expectNegErr("s", "closed: what may be read here has changed")
			r.idleSyncs(t)
			c.send(`["NEG-MSG","s","61"]`, emptyOpen("s"))
			c.expectNegErr("s", "closed: nothing of this id")
			c.negMsg("s")
			r.count.await(t, "sync rules", 1)
		})
	}
}

// TestABadMessageEndsAReconciliation: also one that is no frame, or too large.
func TestABadMessageEndsAReconciliation(t *testing.T) {
	for _, frame := range []string{
		`["NEG-MSG","s","6101"]`, `["NEG-MSG","s","61zz"]`, `["NEG-MSG","s"]`, `["NEG-MSG","s","` + strings.Repeat("6", 300<<10) + `"]`,
		`["NEG-OPEN","s",{"kind":1},"61"]`,
	} {
		f := &fake{}
		f.notes(10)
		r := start(t, f, Options{})
		c := r.dial(t)
		c.send(emptyOpen("s"))
		c.negMsg("s")
		c.send(frame)
		c.expectNegErr("s", "invalid: ")
		r.idleSyncs(t)
		r.count.await(t, "sync refused", 1)
	}
}

func TestTwoReconciliationsAConnection(t *testing.T) {
	f := &fake{}
	f.notes(10)
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(emptyOpen("a"), emptyOpen("b"), emptyOpen("c"), emptyOpen("a"))
	c.negMsg("a")
	c.negMsg("b")
	c.expectNegErr("c", "blocked: too many reconciliations")
	c.negMsg("a")
	c.send(`["NEG-CLOSE","b"]`, emptyOpen("c"))
	c.negMsg("c")
	if s := r.Status(1); s.Syncs != 2 || s.SyncBytes != 2*(holdsSync+10*holdsItem) || s.Busiest[0].Syncs != 2 {
		t.Errorf("status %+v", s)
	}
	c.ws.Close()
	r.idleSyncs(t)
	r.count.await(t, "sync gone", 2)
}

// TestWhoHoldsMostGivesWay: others' small sets take the place of a large one.
func TestWhoHoldsMostGivesWay(t *testing.T) {
	f := &fake{}
	f.notes(100)
	small := `["NEG-OPEN","s",{"ids":["` + big(1, 0).ID + `"]},"6100000200"]`
	r := start(t, f, Options{Limits: Limits{Sync: SyncLimits{Total: 2*holdsSync + 100*holdsItem}}})
	greedy, modest, third := r.dial(t), r.dial(t), r.dial(t)
	greedy.send(emptyOpen("g"))
	greedy.negMsg("g")
	modest.send(small)
	modest.negMsg("s")
	greedy.expectNegErr("g", "closed: others need the memory")
	third.send(emptyOpen("t")) // it may not take it from who has little
	third.expectNegErr("t", "error: the relay holds as many")
	greedy.send(`["NEG-MSG","g","61"]`)
	greedy.expectNegErr("g", "closed: nothing of this id")
	if r.count.get("sync memory") != 1 || r.count.get("syncs") != 1 {
		t.Errorf("gave way %d, open %d", r.count.get("sync memory"), r.count.get("syncs"))
	}
}

// TestAnIdleReconciliationEnds: after a minute without a message, and not before.
func TestAnIdleReconciliationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := filled(Limits{})
		r, c := startVirtual(t, lim)
		r.fake.notes(10)
		c.ws.SetReadDeadline(time.Time{})
		c.send(emptyOpen("s"))
		got := make(chan string)
		go func() { // it answers pings meanwhile
			defer close(got)
			for {
				_, b, err := c.ws.ReadMessage()
				if err != nil {
					return
				}
				got <- string(b)
			}
		}()
		next := func() string { return <-got }
		next()
		since := time.Now()
		for range 3 {
			time.Sleep(lim.Sync.Idle - time.Second)
			c.send(`["NEG-MSG","s","61"]`)
			if answer := next(); answer != `["NEG-MSG","s","61"]` {
				t.Fatalf("got %s", answer)
			}
		}
		answer := next()
		if took := time.Since(since) - 3*(lim.Sync.Idle-time.Second); took != lim.Sync.Idle || !strings.HasPrefix(answer, `["NEG-ERR","s","closed: `) {
			t.Errorf("after %v: %s", took, answer)
		}
		synctest.Wait()
		if r.count.get("syncs") != 0 || r.count.get("sync idle") != 1 || r.syncing.Used() != 0 {
			t.Errorf("open %d, idle %d, bytes %d", r.count.get("syncs"), r.count.get("sync idle"), r.syncing.Used())
		}
	})
}

// TestAReconciliationEndsWithTheRelay: while ids are read, too.
func TestAReconciliationEndsWithTheRelay(t *testing.T) {
	reading := make(chan struct{})
	f := &fake{}
	f.notes(10)
	r := start(t, f, Options{})
	c, d := r.dial(t), r.dial(t)
	c.send(emptyOpen("s"))
	c.negMsg("s")
	f.reading = func(ctx context.Context) error {
		close(reading)
		<-ctx.Done()
		return ctx.Err()
	}
	d.send(emptyOpen("s"))
	<-reading
	r.endsUnder(t, d)
}
