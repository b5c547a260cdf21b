package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/store"
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, fn func(*testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

// hosts makes machines over one log, and ends them with the test. It starts
// them too.
func hosts(t *testing.T, names ...string) (log *Memory, list []*host) {
	t.Helper()
	log = NewMemory(time.Now)
	for i, name := range names {
		h := newHost(log, name, uint64(i))
		t.Cleanup(h.kill)
		list = append(list, h)
		begin(t, h)
	}
	return log, list
}

func begin(t *testing.T, h *host) *Node {
	t.Helper()
	n, err := h.start()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// await waits until something is so, for some minutes of virtual time.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 10_000 {
		if so() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not so: %s", what)
}

// put appends a text and waits for its answer.
func put(ctx context.Context, n *Node, text string) error {
	k := newTicket(nil)
	if err := n.Append(ctx, say(text), k); err != nil {
		return err
	}
	<-k.ended
	return k.err
}

func mustPut(t *testing.T, n *Node, text string) {
	t.Helper()
	if err := put(t.Context(), n, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// texts are the texts that a machine has, in their order.
func (h *host) texts() (out []string) {
	for _, r := range h.disk.copyRows() {
		out = append(out, r.text)
	}
	return out
}

// ended waits for a node to end, and wants a reason.
func ended(t *testing.T, n *Node, want error) {
	t.Helper()
	select {
	case <-n.Done():
	case <-time.After(time.Hour):
		t.Fatalf("it goes on, instead of: %v", want)
	}
	if err := n.Err(); !errors.Is(err, want) || !errors.Is(err, ErrStopped) {
		t.Errorf("it ended with %v, want %v", err, want)
	}
}

func TestWhatOneAppendsAllExecute(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, list := hosts(t, "a", "b", "c")
		for i, h := range list {
			mustPut(t, h.up(), fmt.Sprint("from ", i))
		}
		for _, h := range list {
			if err := h.up().Latest(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := h.texts(); !slices.Equal(got, []string{"from 0", "from 1", "from 2"}) {
				t.Errorf("%s has %q", h.o.Name, got)
			}
		}
		if n := list[0].up(); len(n.Members()) != 3 || len(n.Live()) != 3 || n.Members()[1].Name != "b" {
			t.Errorf("members %+v", n.Members())
		}
		list[2].kill()
		time.Sleep(time.Minute)
		if n := list[0].up(); len(n.Members()) != 3 || len(n.Live()) != 2 {
			t.Errorf("%d members, %d of them live", len(n.Members()), len(n.Live()))
		}
	})
}

// A read does not wait for ever, and what it waits for is shared.
func TestLatest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		list[0].kill()
		list[0].client.Fate = func() Fate { return Fate{Delay: time.Millisecond} }
		n := begin(t, list[0])
		mustPut(t, n, "x")
		before := log.Len()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := n.Latest(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if marks := log.Len() - before; marks < 1 || marks > 3 {
			t.Errorf("%d marks for 100 reads at once", marks)
		}
		log.Stop(true)
		began := time.Now()
		if err := n.Latest(t.Context()); err != ErrUnknown || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Latest(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
		log.Stop(false)
		if err := n.Latest(t.Context()); err != nil {
			t.Error(err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.waiting)+len(n.behind) > 0 {
			t.Errorf("%d and %d that nobody waits for", len(n.waiting), len(n.behind))
		}
	})
}

// What nobody knows of is answered after a while, and is executed all the same,
// once, when the log is back.
func TestPatience(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, list := hosts(t, "a")
		h, n := list[0], list[0].up()
		mustPut(t, n, "before")
		h.cut(true)
		began := time.Now()
		if err := put(t.Context(), n, "lost"); err != ErrUnknown {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d < 10*time.Second || d > 13*time.Second {
			t.Errorf("it was told after %s", d)
		}
		h.cut(false)
		mustPut(t, n, "after")
		if got := h.texts(); !slices.Equal(got, []string{"before", "lost", "after"}) {
			t.Errorf("%q", got)
		}
	})
}

// What is lost on the way is found by what came behind it, and everything is
// there once and in its order.
func TestBatchesAreSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		h := newHost(log, "a", 1)
		t.Cleanup(h.kill)
		i := 0
		h.client.Fate = func() Fate {
			i++
			switch i % 7 {
			case 3:
				return Fate{Lost: true, Timeout: time.Second}
			case 5:
				return Fate{Late: 2 * time.Second, Timeout: 100 * time.Millisecond}
			case 6:
				return Fate{Silent: true, Timeout: time.Second}
			}
			return Fate{Delay: time.Millisecond}
		}
		n := begin(t, h)
		var want []string
		var last *ticket
		for i := range 200 {
			last = newTicket(nil)
			want = append(want, fmt.Sprint(i))
			if err := n.Append(t.Context(), say(want[i]), last); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Millisecond)
		}
		await(t, "everything is there", func() bool { return len(h.texts()) >= len(want) })
		if got := h.texts(); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		if n.mu.Lock(); n.backoff != 0 {
			t.Errorf("everything went well, and the next failure waits for %s", n.backoff)
		}
		n.mu.Unlock()
	})
}

// What came behind a lost batch was void, and goes again though its append had
// been acknowledged, also if the lost one comes late by itself.
func TestVoidBatchesAreSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		h := newHost(log, "a", 1)
		t.Cleanup(h.kill)
		i := 0
		h.client.Fate = func() Fate {
			switch i++; i {
			case 2: // the first one of two
				return Fate{Late: time.Second, Timeout: 100 * time.Millisecond}
			case 4: // once more
				return Fate{Lost: true, Timeout: 10 * time.Minute}
			}
			return Fate{}
		}
		n := begin(t, h)
		await(t, "it has joined", func() bool { return len(n.Members()) == 1 })
		first, second := newTicket(nil), newTicket(nil)
		for i, k := range []*ticket{first, second} {
			if err := n.Append(t.Context(), say(fmt.Sprint(i)), k); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		<-first.ended
		<-second.ended
		if first.err != nil || second.err != nil || !slices.Equal(h.texts(), []string{"0", "1"}) {
			t.Errorf("%v, %v, %q", first.err, second.err, h.texts())
		}
	})
}

// An append of a batch that was appended before says nothing about where the log
// ends: a copy of it may have entered long ago.
func TestReadsWaitForNewAppendsOnly(t *testing.T) {
	log := &recorder{}
	n, err := New(Options{Log: log, Boot: 1})
	if err != nil {
		t.Fatal(err)
	}
	n.sendOne()
	n.waiting = []*waiter{{done: make(chan struct{})}}
	n.cursor = 0
	n.sendOne()
	if len(log.done) != 2 || len(n.waiting) != 1 {
		t.Fatalf("%d appends, %d wait for another", len(log.done), len(n.waiting))
	}
	n.sendOne()
	if len(log.done) != 3 || len(n.waiting) != 0 {
		t.Fatalf("%d appends, %d wait for another", len(log.done), len(n.waiting))
	}
	log.done[1](1, nil)
	if len(n.behind) != 0 {
		t.Error("the second append of a batch was taken for a new one")
	}
	log.done[2](2, nil)
	if len(n.behind) != 1 || n.behind[0].number != 2 {
		t.Error("the mark told nobody where the log ends")
	}
}

// recorder is a log that does nothing.
type recorder struct {
	Log
	done []func(uint64, error)
}

func (r *recorder) MaxMessage() int { return 1 << 20 }

func (r *recorder) Append(_ []byte, done func(uint64, error)) { r.done = append(r.done, done) }

// A store that takes long is no reason to say that nobody knows.
func TestPatienceWithTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		h := newHost(log, "a", 5)
		h.slow = 10 * time.Minute
		t.Cleanup(h.kill)
		n := begin(t, h)
		began := time.Now()
		mustPut(t, n, "x")
		if d := time.Since(began); d < 15*time.Second {
			t.Errorf("it took %s only, which shows nothing", d)
		}
	})
}

func TestLargeCommands(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		n := list[0].up()
		if err := put(t.Context(), n, strings.Repeat("x", log.max-envelope)); !errors.Is(err, ErrLarge) {
			t.Errorf("%v", err)
		}
		for range 3 {
			mustPut(t, n, strings.Repeat("x", log.max-envelope-20))
		}
		for _, m := range log.list {
			if len(m.Data) > log.max {
				t.Errorf("a message of %d bytes", len(m.Data))
			}
		}
	})
}

// A batch has at most so much, and appending blocks while too much waits.
func TestAppendIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		n := list[0].up()
		mustPut(t, n, "before")
		log.Stop(true)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		taken, text := 0, strings.Repeat("x", 2000)
		for ; taken < 100_000; taken++ {
			if err := n.Append(ctx, say(text), newTicket(nil)); err != nil {
				if err != context.DeadlineExceeded {
					t.Error(err)
				}
				break
			}
		}
		if most := queueItems + (mostUnread+1)*maxCommands; taken < queueItems || taken > most {
			t.Errorf("%d were taken, want between %d and %d", taken, queueItems, most)
		}
		log.Stop(false)
		await(t, "everything is there", func() bool { return len(list[0].texts()) == taken+1 })
		for _, m := range log.list {
			if msg, err := parseMessage(m.Data); err != nil || len(msg.items) > maxCommands || len(m.Data) > maxBatch+envelope {
				t.Errorf("%d commands, %d bytes, %v", len(msg.items), len(m.Data), err)
			}
		}
	})
}

func TestHaltAnswersAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		n := list[0].up()
		mustPut(t, n, "before")
		log.Stop(true)
		var all []*ticket
		for i := range 2000 {
			k := newTicket(nil)
			all = append(all, k)
			if err := n.Append(t.Context(), say(fmt.Sprint(i)), k); err != nil {
				t.Fatal(err)
			}
		}
		waits := make(chan error, 2)
		go func() { waits <- n.Latest(t.Context()) }()
		go func() { _, err := n.Submit(t.Context(), Raise{}); waits <- err }()
		time.Sleep(time.Second)
		reason := errors.New("a reason")
		n.Halt(reason)
		n.Halt(errors.New("another one"))
		ended(t, n, reason)
		for _, k := range all {
			<-k.ended
			if !errors.Is(k.err, ErrStopped) {
				t.Fatalf("%v", k.err)
			}
		}
		for range 2 {
			if err := <-waits; !errors.Is(err, reason) {
				t.Errorf("%v", err)
			}
		}
		if err := put(t.Context(), n, "after"); !errors.Is(err, ErrStopped) {
			t.Errorf("%v", err)
		}
		if n.Leads() {
			t.Error("it leads")
		}
	})
}

// What the store has and has not made durable is answered too.
func TestHaltAnswersWhatIsExecuted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		list[0].kill()
		list[0].slow = 100 * time.Hour
		n, k := begin(t, list[0]), newTicket(nil)
		if err := n.Append(t.Context(), say("x"), k); err != nil {
			t.Fatal(err)
		}
		await(t, "it was read", func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return log.Len() > 2 && n.seen.number == log.Len()
		})
		n.Halt(errors.New("a reason"))
		synctest.Wait()
		select {
		case <-k.ended:
		default:
			t.Error("it waits on")
		}
	})
}

// A node leads once it has executed what came before its lease.
func TestLeaderHasExecuted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		h := newHost(log, "a", 1)
		h.slow = 4 * time.Second
		t.Cleanup(h.kill)
		n := begin(t, h)
		await(t, "it leads", n.Leads)
		h.disk.mu.Lock()
		s, err := unmarshalState(h.disk.state)
		h.disk.mu.Unlock()
		if err != nil || s.lease.epoch == 0 || s.lease.epoch != n.leaseEpoch() {
			t.Errorf("%+v, %v", s.lease, err)
		}
	})
}

// A node does not pile up what it says of itself while the log is away.
func TestKeeperWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		n := list[0].up()
		await(t, "it leads", n.Leads)
		log.Stop(true)
		time.Sleep(5 * time.Minute)
		n.mu.Lock()
		defer n.mu.Unlock()
		if waiting := n.queue.Len() + len(n.unread); waiting > 4 {
			t.Errorf("%d wait", waiting)
		}
	})
}

// A batch is taken up in its middle, wherever the transaction before ended.
func TestRestartInTheMiddleOfABatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b")
		broken := errors.New("the disk is full")
		list[1].kill()
		tried := map[string]int{}
		list[1].fail = func(p store.Placed) error {
			if text := text(p.Command); strings.HasSuffix(text, "7") && tried[text] < 2 {
				tried[text]++
				return broken
			}
			return nil
		}
		n, k := list[0].up(), newTicket(nil)
		log.Stop(true) // so that they share a batch
		for i := range 50 {
			if err := n.Append(t.Context(), say(fmt.Sprint(i)), k); err != nil {
				t.Fatal(err)
			}
		}
		log.Stop(false)
		await(t, "everything is there", func() bool { return len(list[0].texts()) == 50 })
		starts := 0
		for ; len(list[1].texts()) < 50 && starts < 100; starts++ {
			n := begin(t, list[1])
			for range 20 {
				time.Sleep(50 * time.Millisecond)
			}
			select {
			case <-n.Done():
				if !errors.Is(n.Err(), broken) {
					t.Fatal(n.Err())
				}
			default:
			}
			list[1].kill()
		}
		if starts < 6 || !slices.Equal(list[0].disk.copyRows(), list[1].disk.copyRows()) {
			t.Errorf("after %d starts:\n%v\n%v", starts, list[0].disk.copyRows(), list[1].disk.copyRows())
		}
	})
}

func TestConfigure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(time.Now)
		var list []*host
		var mu sync.Mutex
		told := map[string]string{}
		for i, name := range []string{"a", "b"} {
			h := newHost(log, name, uint64(i))
			h.o.Configured = func(text string) {
				mu.Lock()
				defer mu.Unlock()
				told[name] += text
			}
			t.Cleanup(h.kill)
			begin(t, h)
			list = append(list, h)
		}
		if a, err := list[0].up().Submit(t.Context(), Configure{Text: "one", Live: store.Live{Versions: 7}}); err != nil || a.Refused != "" {
			t.Fatal(a, err)
		}
		for _, h := range list {
			if err := h.up().Latest(t.Context()); err != nil {
				t.Fatal(err)
			}
			if text, _ := h.up().Configuration(); text != "one" || !slices.Equal(h.texts(), []string{"configure 7"}) {
				t.Errorf("%s: %q, %q", h.o.Name, text, h.texts())
			}
		}
		mu.Lock()
		if told["a"] != "one" || told["b"] != "one" {
			t.Errorf("told %v", told)
		}
		mu.Unlock()
		if a, err := list[1].up().Submit(t.Context(), Raise{Version: 2}); err != nil || a.Refused == "" {
			t.Errorf("%+v, %v", a, err)
		}
		if a, err := list[1].up().Submit(t.Context(), Raise{Version: 1}); err != nil || a.Refused != "" {
			t.Errorf("%+v, %v", a, err)
		}
		if _, version := list[1].up().Configuration(); version != 1 {
			t.Errorf("version %d", version)
		}
		list[0].kill()
		list[0].o.Version = 0
		ended(t, begin(t, list[0]), ErrOld)
	})
}

// The time is the log's, carried on.
func TestClock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log := NewMemory(func() time.Time { return time.Now().Add(-time.Hour) })
		h := newHost(log, "a", 1)
		t.Cleanup(h.kill)
		n := begin(t, h)
		mustPut(t, n, "x")
		h.cut(true)
		at := time.Now().Add(-time.Hour).Unix()
		if got := h.disk.copyRows()[0].at; got < at-1 || got > at {
			t.Errorf("executed at %d, now is %d", got, at)
		}
		for range 3 {
			if off := n.Clock().Sub(time.Now().Add(-time.Hour)); off < -time.Second || off > 0 {
				t.Errorf("%s off", off)
			}
			time.Sleep(time.Minute)
		}
	})
}
