package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/store"
)

// A batch of which nothing is known is answered after a while, and is still
// executed, once, when the log is back.
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

// A slow store is not a reason to answer that nothing is known.
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

// What the store has executed and not made durable is answered too.
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

// Execution resumes in the middle of a batch, wherever the last transaction
// ended.
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
