package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// While live delivery stands still, who floods waits before the store, and what
// others write is stored, and delivered with all that was: nothing is said to
// be lost, and nobody's subscription is closed for another one's flood.
func TestAFloodWaitsForItsDelivery(t *testing.T) {
	r, _ := open(t)
	goOn, delivered, lost := make(chan struct{}), make(chan string, 10_000), make(chan struct{}, 1000)
	r.OnDelivery(func(batch []Delivery) {
		<-goOn
		for _, d := range batch {
			delivered <- d.Event.ID
		}
	}, func() { lost <- struct{}{} })
	text := strings.Repeat("flood ", 40<<10) // 240 KB: 140 of them are more than the backlog takes
	flooding, stop := context.WithCancel(fairness.With(t.Context(), fairness.Who{Share: "192.0.2.1", Conn: 1}))
	defer stop()
	taken, refused := make(chan string, 1000), make(chan Answer, 1)
	go func() {
		defer close(taken)
		defer close(refused)
		for i := range int64(300) {
			ev := storetest.NewKey("flood").Fake(1, i, fmt.Sprint(text, i))
			if a := r.Submit(flooding, Submission{Event: ev}); !a.OK {
				refused <- a
				return
			}
			taken <- ev.ID
		}
	}()
	// It is known to wait when as much as its share may have is not delivered.
	full := func() bool {
		r.backlog.mu.Lock()
		defer r.backlog.mu.Unlock()
		return r.backlog.senders[sender{share: "192.0.2.1"}] > maxSent-r.backlog.bytes
	}
	want := map[string]bool{}
	for !full() {
		id, ok := <-taken
		if !ok {
			t.Fatal("the flood ended before it was held up")
		}
		want[id] = true
	}
	others := fairness.With(t.Context(), fairness.Who{Share: "192.0.2.2", Conn: 2})
	for i := range int64(100) {
		ev := storetest.NewKey("other").Fake(1, i, fmt.Sprint(i))
		if a := r.Submit(others, Submission{Event: ev}); !a.OK {
			t.Fatalf("another address's event: %+v", a)
		}
		want[ev.ID] = true
	}
	stop() // the flooder goes away while he waits
	for id := range taken {
		want[id] = true
	}
	if a := <-refused; !strings.HasPrefix(a.Message(), "error: ") {
		t.Errorf("who goes away while he waits: %+v", a)
	}
	close(goOn)
	for n := len(want); n > 0; n-- {
		select {
		case id := <-delivered:
			if !want[id] {
				t.Errorf("%s was not answered with OK, or comes twice", id)
			}
			delete(want, id)
		case <-lost:
			t.Fatalf("events are said to be lost, and %d were not delivered", n)
		}
	}
}

// Each of n that send too much has a part, and who sends a little goes on.
func TestTheBacklogIsShared(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	const size = 1 << 20
	b := newBacklog()
	fill := func(who fairness.Who) (n int) {
		for b.wait(ended, who) == nil && n < 1000 {
			b.put([]store.Committed{{Event: &nostr.Event{}, JSON: make([]byte, size/2), Who: who}})
			n++
		}
		return n
	}
	local := func(conn uint64) fairness.Who { return fairness.Who{Share: fairness.Local, Conn: conn} }
	first := fill(fairness.Who{Share: "192.0.2.1", Conn: 1})
	if most := maxSent / size / 2; first < most-1 || first > most+1 {
		t.Errorf("one share alone has %d MiB", first)
	}
	if n := fill(fairness.Who{Share: "192.0.2.1", Conn: 2}); n != 0 {
		t.Errorf("another connection of it has %d MiB more", n)
	}
	second := fill(fairness.Who{Share: "192.0.2.2", Conn: 3})
	if second < first/2-1 || second > first/2+1 {
		t.Errorf("the next has %d MiB", second)
	}
	// Those that cannot be told apart are so by connection.
	if n := fill(local(4)); n == 0 {
		t.Error("a local peer has nothing")
	}
	if n := fill(local(5)); n == 0 {
		t.Error("another one has nothing")
	}
	for i := range 20 {
		if n := fill(fairness.Who{Share: fmt.Sprint("address ", i), Conn: 100}); n == 0 {
			t.Errorf("newcomer %d has nothing", i)
		}
	}
	if b.bytes > maxBacklog || b.missing {
		t.Errorf("%d MiB wait", b.bytes/size)
	}
	if err := b.wait(ended, fairness.Who{}); err != nil {
		t.Errorf("the relay's own work: %v", err)
	}
	var batch []store.Committed
	for range len(b.batches) {
		batch, _ = b.take(batch)
	}
	b.close()
	if batch, missing := b.take(batch); batch != nil || missing {
		t.Error("there is more than was put in")
	}
	if b.bytes != 0 || len(b.senders) != 0 {
		t.Errorf("%d bytes of %d senders are counted of an empty backlog", b.bytes, len(b.senders))
	}
	if err := b.wait(t.Context(), fairness.Who{Share: "192.0.2.1", Conn: 1}); err != nil {
		t.Errorf("once it is empty: %v", err)
	}
}

// Who waits goes on when something was delivered, and ends with his context.
func TestWaitingForTheBacklogEnds(t *testing.T) {
	b, who := newBacklog(), fairness.Who{Share: "192.0.2.1", Conn: 1}
	big := []store.Committed{{Event: &nostr.Event{}, JSON: make([]byte, maxSent/2), Who: who}}
	b.put(big)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 2)
	go func() { waits <- b.wait(ctx, who) }()
	go func() { waits <- b.wait(t.Context(), who) }()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("first: %v", err)
	}
	taken, _ := b.take(nil)
	b.close()
	b.take(taken)
	if err := <-waits; err != nil {
		t.Errorf("second: %v", err)
	}
}
