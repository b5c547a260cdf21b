package session

import (
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/store"
	"engramd/internal/wire"
)

// subscription is one open REQ. Effects makes and ends it; live delivery finds
// it in the index.
//
// An event that is committed while the stored ones are sent is kept, and sent
// after EOSE, unless it was among them: arrivals up to the ceiling are in the
// stored answer, and of those above it, which may be, the ones that were sent
// are known. So nothing is missed and nothing comes twice, also when the
// dispatcher is late.
type subscription struct {
	c       *conn
	id      string
	head    []byte // of its event frames
	filters []matcher
	keys    []key // where the index has it
	values  int   // in its filters
	order   uint64

	ceiling atomic.Int64

	mu     sync.Mutex
	late   map[int64]struct{} // arrivals above the ceiling that were sent before EOSE; the highest is latest
	latest int64
	live   bool
	ended  bool
	kept   []keptEvent
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
func (s *subscription) send(row *store.Row) {
	if row.Seq > s.ceiling.Load() {
		s.sentEarly(row.Seq)
	}
	s.c.out.push(frame{op: opText, head: s.head, body: row.JSON})
}

// sentEarly notes that a late arrival is among the stored events.
func (s *subscription) sentEarly(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late == nil {
		s.late = make(map[int64]struct{})
	}
	s.late[seq] = struct{}{}
	s.latest = max(s.latest, seq)
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

// stale tells whether an arrival was in the stored answer. Ephemeral events have
// no arrival number.
func (s *subscription) stale(seq int64) bool {
	if seq == 0 || seq <= s.ceiling.Load() {
		return seq != 0
	}
	if s.late == nil {
		return false
	}
	_, sent := s.late[seq]
	if seq >= s.latest && s.live {
		s.late = nil // arrivals are delivered in their order: none of them follows
	}
	return sent
}

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
