package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/store"
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, fn func(*testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

// messages returns what the log has now.
func (m *Memory) messages() []Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// hosts starts machines over one log, and ends them with the test.
func hosts(t *testing.T, names ...string) (log *Memory, list []*host) {
	t.Helper()
	log = NewMemory(time.Now)
	for i, name := range names {
		h := newHost(log, name, uint64(i))
		t.Cleanup(h.kill)
		list = append(list, h)
		begin(t, h)
	}
	raise(t, list)
	return log, list
}

// raise raises the cluster's version once all are members.
func raise(t *testing.T, list []*host) {
	t.Helper()
	n := list[0].up()
	await(t, "all have joined", func() bool { return len(n.Members()) == len(list) })
	if a, err := n.Submit(t.Context(), Raise{Version: proofVersion}); err != nil || a.Refused != "" {
		t.Fatal(err, a)
	}
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

// texts returns the texts that a machine has executed, in order.
func (h *host) texts() (out []string) {
	for _, r := range h.disk.copyRows() {
		out = append(out, r.text)
	}
	return out
}

// ended waits for a node to end with the given error.
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

// A read does not wait for ever, and reads share one wait.
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

// A node leads only after it has executed what came before its lease.
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

// A node does not queue more and more reports about itself while the log is
// away.
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
		if a, err := list[1].up().Submit(t.Context(), Raise{Version: proofVersion + 1}); err != nil || a.Refused == "" {
			t.Errorf("%+v, %v", a, err)
		}
		if a, err := list[1].up().Submit(t.Context(), Raise{Version: proofVersion}); err != nil || a.Refused != "" {
			t.Errorf("%+v, %v", a, err)
		}
		if _, version := list[1].up().Configuration(); version != proofVersion {
			t.Errorf("version %d", version)
		}
		list[0].kill()
		list[0].o.Version = proofVersion - 1
		ended(t, begin(t, list[0]), ErrOld)
	})
}

// The clock continues from the log's time.
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
