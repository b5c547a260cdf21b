package websocket

import (
	"sync/atomic"
	"testing"

	"engramd/internal/relay/fairness"
)

// What waits for the clients of one share is bounded together: those of it who
// are over their mark get no more, and others do.
func TestQueuesOfAShare(t *testing.T) {
	q := queues{shares: make(map[string]*shareQueue)}
	var total atomic.Int64
	lim := filled(Limits{QueueMark: 100, QueueShare: 1000})
	box := func(who fairness.Who) *outbox {
		b := &outbox{}
		b.init(&total, q.enter(who))
		return b
	}
	flood := fairness.Who{Share: "192.0.2.1", Conn: 1}
	one, two, other := box(flood), box(flood), box(fairness.Who{Share: "192.0.2.2", Conn: 3})
	keep := func(b *outbox, size int, want bool) {
		t.Helper()
		if got := b.keep(size, &lim); got != want {
			t.Errorf("%d bytes fit: %v, with %d of the share", size, got, b.share.bytes.Load())
		}
	}
	keep(one, 600, true)
	keep(two, 50, true)
	keep(two, 600, true)
	keep(one, 10, false)
	keep(two, 10, false)
	keep(other, 900, true)
	keep(other, 10, true)
	q.leave(two.move(q.enter(fairness.Who{Share: "key 1"}))) // it has proved one
	keep(one, 10, true)
	keep(two, 10, true)
	two.release(660, 3)
	one.push(frame{head: make([]byte, 100)})
	one.abandon()
	one.release(610, 2)
	for _, b := range []*outbox{one, two} {
		if n := b.share.bytes.Load(); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
	}
	for _, b := range []*outbox{one, two, other} {
		q.leave(b.share)
	}
	if n := len(q.shares); n != 0 || total.Load() != 910 {
		t.Errorf("%d shares are kept, and %d bytes in all", n, total.Load())
	}
	if alone := q.enter(fairness.Who{Share: "127.0.0.1", Exempt: true}); alone == q.enter(fairness.Who{Share: "127.0.0.1", Exempt: true}) {
		t.Error("exempt peers share a queue")
	}
}
