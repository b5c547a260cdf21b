package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/store"
)

// enter puts a message into a log, as another program would.
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

// noted is an Observer that counts.
type noted struct {
	mu                            sync.Mutex
	depth, appends, failed, again int
	became                        map[string]int
	executed                      uint64
}

func (o *noted) AppendDone(_ time.Duration, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.appends++; !ok {
		o.failed++
	}
}

func (o *noted) MessageRead(_ uint64, became string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.became[became]++
}

func (o *noted) Executed(number uint64, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.executed = number
}

func (o *noted) SentAgain(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.again += n
}

func (o *noted) QueueAdd(_ string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.depth += n
}

func TestObserver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		h, o := newHost(log, "a", 1), &noted{became: map[string]int{}}
		h.o.Observe = o
		i := 0
		h.client.Fate = func() Fate {
			i++
			return Fate{Silent: i == 2, Timeout: 10 * time.Millisecond, Lost: i == 4, Delay: time.Millisecond}
		}
		t.Cleanup(h.kill)
		n := begin(t, h)
		for i := range 20 {
			mustPut(t, n, fmt.Sprint(i))
		}
		if err := n.Latest(t.Context()); err != nil {
			t.Fatal(err)
		}
		at, _ := n.Applied()
		log.Stop(true)
		if err := n.Append(t.Context(), say("waits"), newTicket(nil)); err != nil {
			t.Fatal(err)
		}
		n.Halt(errors.New("a reason"))
		synctest.Wait()
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.depth != 0 || o.failed < 2 || o.again < 1 || o.became["taken"] < 21 || o.became["mark"] < 1 || o.executed+1 < at {
			t.Errorf("%+v", o)
		}
	})
}

// A node that was away too long is removed, and cannot come back under the same
// id.
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
		await(t, "it is a member", func() bool { return len(list[0].up().Members()) == 3 })
	})
}

// While the clock of the node that leads is not confirmed, nobody is removed.
func TestNobodyIsStruckOutByAClockThatIsNotConfirmed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		believed := atomic.Bool{}
		var list []*host
		for i, name := range []string{"a", "b"} {
			h := newHost(log, name, uint64(i))
			h.o.Confirmed = believed.Load
			list = append(list, h)
			t.Cleanup(h.kill)
			begin(t, h)
		}
		await(t, "both have joined", func() bool { return len(list[0].up().Members()) == 2 })
		list[1].kill()
		time.Sleep(time.Hour)
		if n := len(list[0].up().Members()); n != 2 {
			t.Fatalf("%d members", n)
		}
		believed.Store(true)
		time.Sleep(time.Minute)
		mustPut(t, list[0].up(), "a log that nobody uses strikes nobody out")
		time.Sleep(strikeTime)
		await(t, "it is struck out", func() bool { return len(list[0].up().Members()) == 1 })
	})
}

// A node whose outcomes differ stops and says where; the others go on.
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

// Messages are trimmed after a while, and a node that needs them must join
// again.
func TestTrim(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b")
		mustPut(t, list[0].up(), "x")
		time.Sleep(59 * time.Minute)
		log.mu.Lock()
		first := log.first
		log.mu.Unlock()
		if first != 1 {
			t.Fatalf("trimmed up to %d within an hour", first)
		}
		time.Sleep(10 * time.Minute)
		log.mu.Lock()
		oldest := time.Since(log.list[0].At)
		first = log.first
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

// A batch of another sender under this node's counter shows that two nodes have
// its id.
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

// A missing message stops a node.
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

// boundsLog tells its bounds one after the other.
type boundsLog struct {
	Log
	first, last []uint64
	asked       int
}

func (l *boundsLog) Bounds(context.Context) (first, last uint64, err error) {
	i := min(l.asked, len(l.first)-1)
	l.asked++
	return l.first[i], l.last[i], nil
}

// A start waits for a server that is behind, and refuses a log that does not continue the
// database.
func TestTheLogContinuesTheDatabase(t *testing.T) {
	for name, test := range map[string]struct {
		executed    uint64
		first, last []uint64 // in the order of the answers
		want        error
	}{
		"it does":         {7, []uint64{1}, []uint64{9}, nil},
		"a new node":      {0, []uint64{1}, []uint64{1}, nil},
		"a server behind": {7, []uint64{1, 1, 1}, []uint64{3, 5, 7}, nil},
		"another log":     {7, []uint64{1}, []uint64{3}, ErrAhead},
		"trimmed":         {7, []uint64{9}, []uint64{20}, ErrTrimmed},
		"all of it":       {7, []uint64{8}, []uint64{7}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &boundsLog{first: test.first, last: test.last}
				o := Options{Log: log, Clock: time.Now, Patience: 10 * time.Second}
				if _, err := o.bounds(t.Context(), &state{number: test.executed}); !errors.Is(err, test.want) {
					t.Errorf("%v, want %v", err, test.want)
				}
			})
		})
	}
}
