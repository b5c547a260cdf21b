package session

import (
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/wire"
)

// subscription is one open REQ. Effects makes and ends it; live delivery finds
// it in the index.
//
// An event that is committed while the stored ones are sent is kept, and sent
// after EOSE. The ceiling parts the two: arrivals up to it are in the stored
// answer, arrivals above it are not; so nothing is missed and nothing comes
// twice, also when the dispatcher is late.
type subscription struct {
	c       *conn
	id      string
	head    []byte // of its event frames
	filters []matcher
	keys    []key // where the index has it
	values  int   // in its filters
	order   uint64

	ceiling atomic.Int64

	mu    sync.Mutex
	live  bool
	ended bool
	kept  []keptEvent
}

// keptEvent waits for EOSE.
type keptEvent struct {
	seq     int64
	expires nostr.Timestamp
	json    []byte
}

// newSubscription prepares what a REQ was granted for live delivery. Search
// filters and those that can match nothing have no part in that.
func newSubscription(c *conn, id string, granted []relay.Granted) *subscription {
	s := &subscription{c: c, id: id, order: c.srv.subscriptions.Add(1)}
	s.head = wire.AppendEventFrame(nil, id, nil)
	s.head = s.head[:len(s.head)-1]
	for _, g := range granted {
		s.values += valuesIn(&g.Filter)
		if g.Filter.Search == "" && canMatch(&g.Filter) {
			s.filters = append(s.filters, newMatcher(g))
		}
	}
	s.keys = keysOf(s.filters)
	return s
}

// send queues a stored event.
func (s *subscription) send(json []byte) {
	s.c.out.push(frame{op: opText, head: s.head, body: json})
}

// deliver sends or keeps an event if the subscription asks for it and may know
// of it. It reports whether it did, and whether the caller must start the
// connection's writer. It never waits for the client.
func (s *subscription) deliver(d *relay.Delivery, expires nostr.Timestamp) (sent, start bool) {
	defer s.c.rescue("live")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.live && s.stale(d.Seq) || !s.wants(d) {
		return false, false
	}
	if !s.live {
		lim := s.c.srv.limits.Load()
		if !s.c.out.keep(len(d.JSON)+frameOverhead, lim) {
			s.c.overflow()
			return false, false
		}
		s.kept = append(s.kept, keptEvent{d.Seq, expires, d.JSON})
		return true, false
	}
	return true, s.push(d.JSON)
}

// stale tells whether an arrival belongs to the stored answer. Ephemeral events
// have no arrival number.
func (s *subscription) stale(seq int64) bool { return seq != 0 && seq <= s.ceiling.Load() }

// wants tells whether one of the filters matches the event and the gate grants
// it to that very filter.
func (s *subscription) wants(d *relay.Delivery) bool {
	for i := range s.filters {
		m := &s.filters[i]
		if m.matches(d.Event) && s.c.srv.backend.CanRead(m.scope, d) {
			return true
		}
	}
	return false
}

// push queues a live event, or cuts the client off.
func (s *subscription) push(json []byte) (start bool) {
	fits, start := s.c.out.pushLive(frame{op: opText, head: s.head, body: json}, s.c.srv.limits.Load())
	if !fits {
		s.c.overflow()
	}
	return start
}

// goLive sends EOSE and what was kept. start says that the caller must start the
// connection's writer.
func (s *subscription) goLive(eose []byte) (start bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.say(eose)
	kept := s.kept
	s.releaseKept()
	now := nostr.Timestamp(s.c.srv.now().Unix())
	for _, k := range kept {
		if !s.stale(k.seq) && (k.expires == 0 || k.expires > now) {
			start = s.push(k.json) || start
		}
	}
	s.live = true
	return start
}

// end makes deliver do nothing from now on.
func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.releaseKept()
}

func (s *subscription) releaseKept() {
	size := 0
	for _, k := range s.kept {
		size += len(k.json) + frameOverhead
	}
	if size > 0 {
		s.c.out.release(size, len(s.kept))
	}
	s.kept = nil
}
