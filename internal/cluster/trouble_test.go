package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/store"
)

// enter puts a message into a log, as somebody else would.
func enter(t *testing.T, log *Memory, data []byte) (number uint64) {
	t.Helper()
	number, err := log.enter(data)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func TestOneLeads(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, list := hosts(t, "a", "b", "c")
		leader := func() (out *host) {
			for _, h := range list {
				if n := h.up(); n != nil && n.Leads() {
					if out != nil {
						t.Fatal("two lead")
					}
					out = h
				}
			}
			return out
		}
		await(t, "one leads", func() bool { return leader() != nil })
		first := leader()
		for range 100 {
			time.Sleep(time.Second)
			if leader() != first {
				t.Fatal("the lease was not kept")
			}
		}
		ctx, other := first.up().Lease(t.Context()), list[(slices.Index(list, first)+1)%3]
		if err := put(ctx, first.up(), "leads"); err != nil {
			t.Error(err)
		}
		if err := put(other.up().Lease(t.Context()), other.up(), "does not lead"); !errors.Is(err, ErrLease) {
			t.Errorf("%v", err)
		}
		first.cut(true)
		lost := newTicket(nil)
		if err := first.up().Append(ctx, say("too late"), lost); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		await(t, "another one leads", func() bool { l := leader(); return l != nil && l != first })
		if d := time.Since(began); d < 5*time.Second || d > 15*time.Second {
			t.Errorf("after %s", d)
		}
		if first.up().Leads() {
			t.Error("who was cut off leads on")
		}
		mustPut(t, leader().up(), "leads now")
		first.cut(false)
		if err := put(ctx, first.up(), "under the old lease"); !errors.Is(err, ErrLease) {
			t.Errorf("%v", err)
		}
		for _, h := range list {
			if err := h.up().Latest(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := h.texts(); !slices.Equal(got, []string{"leads", "leads now"}) {
				t.Errorf("%s: %q", h.o.Name, got)
			}
		}
	})
}

// Who was away for too long is struck out, and does not come back as itself.
func TestStruckOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, list := hosts(t, "a", "b", "c", "d")
		await(t, "all have joined", func() bool { return len(list[0].up().Members()) == 4 })
		list[2].kill()
		list[3].cut(true)
		cut := list[3].up()
		await(t, "29 minutes", func() bool { time.Sleep(10 * time.Second); return time.Now().Minute() == 29 })
		if n := len(list[0].up().Members()); n != 4 {
			t.Fatalf("%d members after 29 minutes", n)
		}
		time.Sleep(3 * time.Minute)
		if n := len(list[0].up().Members()); n != 2 {
			t.Fatalf("%d members after 32 minutes", n)
		}
		list[3].cut(false)
		ended(t, cut, ErrStruck)
		ended(t, begin(t, list[2]), ErrStruck)
		list[2].kill()
		copy(list[2].o.NodeID[:], "e") // from a backup, under a new id
		mustPut(t, begin(t, list[2]), "y")
		if n := len(list[0].up().Members()); n != 3 {
			t.Errorf("%d members", n)
		}
	})
}

// A node whose outcomes are not the others' stops and says where; the others go
// on.
func TestWhoDiffersStops(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		var list []*host
		for i, name := range []string{"a", "b", "c"} {
			h := newHost(log, name, uint64(i))
			if name == "c" {
				h.odd = func(p store.Placed) store.Outcome {
					if text(p.Command) == "700" {
						return store.Refused
					}
					return store.Stored
				}
			}
			t.Cleanup(h.kill)
			begin(t, h)
			list = append(list, h)
		}
		last := newTicket(nil)
		for i := range 2500 {
			last = newTicket(nil)
			if err := list[i%2].up().Append(t.Context(), say(fmt.Sprint(i)), last); err != nil {
				t.Fatal(err)
			}
		}
		<-last.ended
		odd := list[2].up()
		ended(t, odd, ErrDiffers)
		time.Sleep(time.Minute)
		mustPut(t, list[0].up(), "on")
		mustPut(t, list[1].up(), "on")
		list[2].kill()
		ended(t, begin(t, list[2]), ErrDiffers) // and it is not forgotten
	})
}

// A command that no node can execute stops all, until an operator says that it
// is to be skipped. Everything else is executed.
func TestVoid(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b", "c")
		broken := errors.New("cannot be executed")
		for i, h := range list {
			mustPut(t, h.up(), fmt.Sprint("before ", i))
			h.kill()
			if i < 2 {
				h.fail = func(p store.Placed) error {
					if text(p.Command) == "bad" {
						return broken
					}
					return nil
				}
			}
		}
		var bad store.LogPlace
		nodes := []*Node{begin(t, list[0]), begin(t, list[1])}
		log.Stop(true)
		for _, text := range []string{"good", "bad", "better"} {
			if err := nodes[0].Append(t.Context(), say(text), newTicket(nil)); err != nil {
				t.Fatal(err)
			}
		}
		log.Stop(false)
		for i, n := range nodes {
			ended(t, n, broken)
			list[i].kill()
			place, err := Inspect(list[i].disk.state)
			if err != nil || place.Whole {
				t.Errorf("%+v, %v", place, err)
			}
			bad = store.LogPlace{Number: place.At.Number, Index: place.At.Index + 1}
		}
		begin(t, list[2]) // can execute it
		await(t, "c has it", func() bool { return slices.Contains(list[2].texts(), "better") })
		list[0].disk.boot++
		raw, err := Batch(list[0].o.ClusterID, list[0].o.NodeID, list[0].disk.boot, Void{Number: bad.Number, Index: bad.Index})
		if err != nil {
			t.Fatal(err)
		}
		enter(t, log, raw)
		ended(t, list[2].up(), ErrNotSkipped)
		for i := range nodes {
			mustPut(t, begin(t, list[i]), fmt.Sprint("after ", i))
		}
		for _, h := range list[:2] {
			if err := h.up().Latest(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []string{"before 0", "before 1", "before 2", "good", "better", "after 0", "after 1"}
			if got := h.texts(); !slices.Equal(got, want) {
				t.Errorf("%s: %q", h.o.Name, got)
			}
		}
		list[2].kill()
		ended(t, begin(t, list[2]), ErrNotSkipped)
	})
}

// What is no message of this cluster stops a node, unless it is to be skipped.
func TestForeignMessagesStop(t *testing.T) {
	foreign, err := Batch(ClusterID{9}, NodeID{9}, 1, Join{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"another cluster": {foreign, ErrForeign},
		"no message":      {[]byte("no message"), errMessage},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list := hosts(t, "a")
				h := list[0]
				mustPut(t, h.up(), "before")
				number := enter(t, log, c.data)
				ended(t, h.up(), c.want)
				h.kill()
				h.disk.boot++
				raw, err := Batch(h.o.ClusterID, h.o.NodeID, h.disk.boot, Void{Number: number, Index: -1})
				if err != nil {
					t.Fatal(err)
				}
				enter(t, log, raw)
				mustPut(t, begin(t, h), "after")
				if got := h.texts(); !slices.Equal(got, []string{"before", "after"}) {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// What stands in the log for a while is trimmed, and who needs it must join
// again.
func TestTrim(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b")
		mustPut(t, list[0].up(), "x")
		time.Sleep(59 * time.Minute)
		if log.first != 1 {
			t.Fatalf("trimmed up to %d within an hour", log.first)
		}
		time.Sleep(10 * time.Minute)
		log.mu.Lock()
		first, oldest := log.first, time.Since(log.list[0].At)
		log.mu.Unlock()
		if first == 1 || oldest < time.Hour || oldest > time.Hour+5*time.Minute {
			t.Errorf("the log begins at %d, %s ago", first, oldest)
		}
		late := newHost(log, "c", 9)
		t.Cleanup(late.kill)
		ended(t, begin(t, late), ErrTrimmed)
		list[1].kill()
		mustPut(t, begin(t, list[1]), "y")
	})
}

func TestDatabaseOfAnotherLog(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, list := hosts(t, "a")
		h := list[0]
		mustPut(t, h.up(), "x")
		h.kill()
		h.log = NewMemory(time.Now)
		ended(t, begin(t, h), ErrAhead)
		h.o.ClusterID = ClusterID{7}
		if _, err := h.start(); !errors.Is(err, ErrForeign) {
			t.Errorf("%v", err)
		}
		h.disk.state = h.disk.state[:10]
		if _, err := h.start(); !errors.Is(err, ErrState) {
			t.Errorf("%v", err)
		}
	})
}

func TestTwoProcessesAsOneNode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		mustPut(t, list[0].up(), "x")
		other := newHost(log, "a", 2)
		other.disk.boot = 5
		t.Cleanup(other.kill)
		mustPut(t, begin(t, other), "y")
		ended(t, list[0].up(), ErrTwice)
	})
}

// A batch under a counter of this node, which is not its own, says that there are
// two of them.
func TestAnotherBatchUnderOwnCounter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		h, n := list[0], list[0].up()
		mustPut(t, n, "x")
		h.cut(true)
		if err := n.Append(t.Context(), say("mine"), newTicket(nil)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		n.mu.Lock()
		m := message{cluster: n.o.ClusterID, node: n.o.NodeID, boot: n.o.Boot, counter: n.unread[0].counter, items: []item{{store: say("not mine")}}}
		n.mu.Unlock()
		enter(t, log, mustEncode(t, m))
		h.cut(false)
		ended(t, n, ErrTwice)
	})
}

// A message that is to be skipped as a whole still counts: who joined in it is a
// member and leads, and what it sent after it is taken.
func TestVoidOfAWholeMessage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		h := list[0]
		mustPut(t, h.up(), "before")
		h.kill()
		broken := errors.New("cannot be executed")
		h.fail = func(p store.Placed) error {
			if text(p.Command) == "bad" {
				return broken
			}
			return nil
		}
		m := message{cluster: h.o.ClusterID, node: node("x"), boot: 1, counter: 1, items: []item{{own: Join{Name: "x", Version: 1}}, {own: Lease{Epoch: 1}}, {store: say("bad")}}}
		number := enter(t, log, mustEncode(t, m))
		m.counter, m.items = 2, []item{{epoch: 1, store: say("good")}}
		enter(t, log, mustEncode(t, m))
		h.disk.boot++
		raw, err := Batch(h.o.ClusterID, h.o.NodeID, h.disk.boot, Void{Number: number, Index: -1})
		if err != nil {
			t.Fatal(err)
		}
		enter(t, log, raw)
		mustPut(t, begin(t, h), "after")
		if got := h.texts(); !slices.Equal(got, []string{"before", "good", "after"}) {
			t.Errorf("%q", got)
		}
		h.kill()
		mustPut(t, begin(t, h), "later")
	})
}

// What is stored with a transaction has everything that came before it, also of
// messages that do nothing, and nothing of what was read since.
func TestStateIsOfTheLastCommand(t *testing.T) {
	var placed []store.Placed
	n, err := New(Options{Log: &recorder{}, ClusterID: ClusterID{1}, NodeID: node("a"), Boot: 1, Version: 1, Executor: executor(func(list []store.Placed) { placed = append(placed, list...) })})
	if err != nil {
		t.Fatal(err)
	}
	other := message{cluster: ClusterID{1}, node: node("b"), boot: 1}
	number := uint64(0)
	next := func(second int64, counter uint64, items ...item) {
		number++
		m := other
		m.counter, m.items = counter, items
		if err := n.message(t.Context(), Message{Number: number, At: time.Unix(second, 0), Data: mustEncode(t, m)}); err != nil {
			t.Fatal(err)
		}
	}
	next(5, 0)
	next(10, 1, item{own: Join{Name: "b"}}, item{store: say("x")})
	next(20, 0)
	next(30, 0)
	next(7, 5, item{store: say("void")})
	next(25, 2, item{store: say("y")}, item{own: Lease{Epoch: 1}}, item{store: say("z")})
	next(40, 3, item{own: Fingerprint{Key: "relay"}})
	next(50, 0)
	var places []store.LogPlace
	var done []store.Done
	for _, p := range placed {
		places = append(places, p.Place)
		done = append(done, store.Done{Place: p.Place})
	}
	if want := []store.LogPlace{{Number: 2, Index: 0}, {Number: 2, Index: 1}, {Number: 6, Index: 0}, {Number: 6, Index: 1}, {Number: 6, Index: 2}, {Number: 7, Index: 0}}; !slices.Equal(places, want) {
		t.Fatalf("placed %v", places)
	}
	if placed[0].Command != nil || placed[1].At != 10 || placed[2].At != 30 || placed[5].At != 40 {
		t.Errorf("%+v", placed)
	}
	look := func(upTo int, second int64, number uint64, left int, epoch uint64, keys int, count uint64, applied uint64) {
		t.Helper()
		s, err := unmarshalState(n.State(done[:upTo]))
		if err != nil {
			t.Fatal(err)
		}
		if s.time != second*int64(time.Second) || s.number != number || s.left != left || s.lease.epoch != epoch || len(s.keys) != keys || s.chain.count != count {
			t.Errorf("up to %d: %+v", upTo, s)
		}
		if got, _ := n.Applied(); got != applied {
			t.Errorf("up to %d: applied %d, want %d", upTo, got, applied)
		}
	}
	look(1, 10, 2, 1, 0, 0, 0, 1)
	look(6, 40, 7, 0, 1, 1, 3, 1) // and that transaction failed
	look(3, 30, 6, 2, 0, 0, 2, 1)
	n.Durable()
	done = done[3:]
	look(1, 30, 6, 1, 1, 0, 2, 5)
	n.Durable()
	done = done[1:]
	look(2, 40, 7, 0, 1, 1, 3, 5)
	n.Durable()
	if got, _ := n.Applied(); got != 8 {
		t.Errorf("applied %d of 8", got)
	}
	if n.State([]store.Done{{Place: store.LogPlace{Number: 9}}}) != nil || !errors.Is(n.Err(), errOrder) {
		t.Errorf("what never came was executed, and: %v", n.Err())
	}
}

// executor is a store that only notes what it was given.
type executor func([]store.Placed)

func (e executor) Execute(_ context.Context, list []store.Placed) error {
	e(list)
	return nil
}

// A message that is missing stops a node.
func TestMissingMessage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, list := hosts(t, "a")
		mustPut(t, list[0].up(), "x")
		n := list[0].up()
		n.mu.Lock()
		want := n.seen.following()
		n.mu.Unlock()
		if err := n.message(t.Context(), Message{Number: want + 1, Data: mustEncode(t, message{cluster: n.o.ClusterID, boot: 1})}); err == nil {
			t.Error("it goes on")
		}
	})
}
