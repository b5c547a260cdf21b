package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A lost batch is noticed by what arrives after it, and everything is executed
// once and in order.
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

// Batches that arrived after a lost one are void and sent again although their
// append was acknowledged, also if the lost one arrives late.
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

// The append of a batch that was appended before does not tell where the log
// ends: a copy of it may have entered long ago.
func TestReadsWaitForNewAppendsOnly(t *testing.T) {
	log := &recorder{}
	n, err := New(Options{Log: log, Boot: 1})
	if err != nil {
		t.Fatal(err)
	}
	n.sendOne()
	n.met, n.waiting = true, []*waiter{{done: make(chan struct{})}}
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
		for _, m := range log.messages() {
			if len(m.Data) > log.max {
				t.Errorf("a message of %d bytes", len(m.Data))
			}
		}
	})
}

// A batch has a bounded size, and appending blocks while too much waits.
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
		for _, m := range log.messages() {
			if msg, err := parseMessage(m.Data); err != nil || len(msg.items) > maxCommands || len(m.Data) > maxBatch+envelope {
				t.Errorf("%d commands, %d bytes, %v", len(msg.items), len(m.Data), err)
			}
		}
	})
}
