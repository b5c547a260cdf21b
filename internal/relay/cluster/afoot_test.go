package cluster

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"engramd/internal/relay/store"
)

// A node whose clients send more than it executes does not fill the log with
// what the clients of others would wait for. What is void there counts no more.
func TestAFloodIsHeldBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		for _, h := range list {
			h.kill()
		}
		gate := make(chan struct{})
		list[0].fail = func(store.Placed) error { <-gate; return nil }
		n := begin(t, list[0])
		old := context.WithValue(t.Context(), leaseKey{}, uint64(1<<40))
		const flood = 3 * mostAfoot
		var last *ticket
		sent := make(chan error, 1)
		go func() {
			for i := range flood {
				if err := n.Append(old, say(fmt.Sprint("void ", i)), newTicket(nil)); err != nil {
					sent <- err
					return
				}
			}
			for i := range flood {
				last = newTicket(nil)
				if err := n.Append(t.Context(), say(fmt.Sprint(i)), last); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		synctest.Wait() // in small batches it may be less: they are bounded too
		if k := log.said(); k >= mostAfoot+maxCommands {
			t.Errorf("%d commands are in the log that this node has not executed", k)
		}
		close(gate)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		<-last.ended
		await(t, "everything is executed", func() bool { return len(list[0].texts()) == flood })
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.afoot != 0 {
			t.Errorf("%d commands are still held for being on their way", n.afoot)
		}
	})
}

// wantAfoot returns an error unless afoot is the number of the commands in batches
// that were not read, and of the own ones that are not durable. One too many for
// each that was lost on the way would stop the node in the end.
func (n *Node) wantAfoot() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	want := 0
	for _, b := range n.unread {
		want += len(b.list)
	}
	for _, st := range n.steps {
		if st.mine {
			want++
		}
	}
	if n.afoot != want {
		return fmt.Errorf("%d commands count as being on their way, of %d", n.afoot, want)
	}
	return nil
}

// said counts the commands of the store in the log that no lease makes void.
func (m *Memory) said() (k int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, m := range m.list {
		msg, _ := parseMessage(m.Data)
		for _, it := range msg.items {
			if it.store != nil && it.epoch == 0 {
				k++
			}
		}
	}
	return k
}
