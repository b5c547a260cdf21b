package relay

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// However long live delivery takes, whoever writes gets the answer, and every
// event is delivered, in its order, when it goes on.
func TestTheWriterNeverWaitsForDelivery(t *testing.T) {
	const n = 200
	r, _ := open(t)
	goOn, delivered := make(chan struct{}), make(chan int64, n)
	r.OnDelivery(func(batch []Delivery) {
		<-goOn
		for _, d := range batch {
			delivered <- d.Seq
		}
	}, func() { t.Error("events are said to be lost") })
	answered := make(chan Answer, n)
	go func() {
		for i := range n {
			answered <- r.Submit(context.Background(), Submission{Event: storetest.NewKey("a").Fake(1, int64(i), fmt.Sprint(i))})
		}
	}()
	late := time.After(patience)
	for i := range n {
		select {
		case a := <-answered:
			if !a.OK {
				t.Fatalf("event %d: %+v", i, a)
			}
		case <-late:
			t.Fatalf("event %d has no answer while delivery stands still", i)
		}
	}
	close(goOn)
	last := int64(0)
	for range n {
		if seq := <-delivered; seq <= last {
			t.Errorf("%d after %d", seq, last)
		} else {
			last = seq
		}
	}
}

// What waits for delivery is bounded: beyond it, subscribers are told that they
// miss something, and hooks hear of every event all the same.
func TestTheBacklogIsBounded(t *testing.T) {
	r, _ := open(t)
	var saved atomic.Int64
	r.Hooks.OnEventSaved = append(r.Hooks.OnEventSaved, func(context.Context, *nostr.Event) { saved.Add(1) })
	goOn, begun := make(chan struct{}), make(chan struct{})
	delivered, lost := make(chan int64, 1000), make(chan struct{}, 1000)
	first := true
	r.OnDelivery(func(batch []Delivery) {
		if first {
			first = false
			close(begun)
		}
		<-goOn
		for _, d := range batch {
			delivered <- d.Seq
		}
	}, func() { lost <- struct{}{} })
	json := make([]byte, 1<<20)
	const n = 100
	commit := func(seq int64) {
		r.Committed([]store.Committed{{Event: &nostr.Event{Kind: 1}, JSON: json, Seq: seq}})
	}
	commit(1)
	<-begun
	for seq := range int64(n - 1) {
		commit(seq + 2)
	}
	r.backlog.mu.Lock()
	held, waiting := r.backlog.bytes, len(r.backlog.batches)
	r.backlog.mu.Unlock()
	if held > maxBacklog || waiting > n/2 {
		t.Errorf("%d bytes of %d batches wait", held, waiting)
	}
	close(goOn)
	for want := range int64(waiting + 1) {
		if seq := <-delivered; seq != want+1 {
			t.Errorf("delivered %d, want %d", seq, want+1)
		}
	}
	<-lost
	commit(n + 1)
	if seq := <-delivered; seq != n+1 {
		t.Errorf("then delivered %d", seq)
	}
	if len(lost) != 0 || saved.Load() != n+1 {
		t.Errorf("%d further losses, %d of %d events told to hooks", len(lost), saved.Load(), n+1)
	}
}
