package websocket

import (
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
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
	places  []uint64 // where the index has its connection for it
	holds   int64    // bytes

	ceiling atomic.Int64
	spent   atomic.Int64 // comparisons since its connection fell behind

	mu     sync.Mutex
	late   map[int64]struct{} // arrivals above the ceiling that were sent before EOSE; the highest is latest
	latest int64
	live   bool
	ended  bool
	why    *nip01.Refusal // it was closed before it was live
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
	s := &subscription{c: c, id: id, holds: footprint(granted)}
	s.head = wire.AppendEventFrame(nil, id, nil)
	s.head = s.head[:len(s.head)-1]
	for _, g := range granted {
		if isLive(&g.Filter) {
			s.filters = append(s.filters, newMatcher(c.srv.live.hash, g))
		}
	}
	s.places = placesOf(c.srv.live.hash, s.filters)
	return s
}

// isLive reports whether a filter can match what comes.
func isLive(f *nostr.Filter) bool { return f.Search == "" && canMatch(f) }

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
// of it. It reports whether it did, whether the caller must start the
// connection's writer, and how many comparisons that took: at most one for each
// value of the filters, or a few for each tag of the event if those are fewer.
// It never waits for the client.
func (s *subscription) deliver(t *task) (sent, start bool, comparisons int) {
	defer s.c.rescue("live")
	comparisons = 1
	if !overlap(s.places, t.found(), &comparisons) {
		return false, false, comparisons
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.spent.Add(int64(comparisons)) }()
	n := t.news
	if s.ended || s.live && s.stale(n.Seq) || !s.wants(n, &comparisons) {
		return false, false, comparisons
	}
	if !s.live {
		lim := s.c.srv.limits.Load()
		if !s.c.out.keep(len(n.JSON)+frameOverhead, lim) {
			s.c.overflow()
			return false, false, comparisons
		}
		s.kept = append(s.kept, keptEvent{n.Seq, n.expires, n.JSON})
		return true, false, comparisons
	}
	return true, s.push(n.JSON), comparisons
}

// overlap reports whether two sorted lists have something in common.
func overlap(a, b []uint64, comparisons *int) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	at := 0
	for _, v := range b {
		at += seek(len(a)-at, func(n int) bool { return a[at+n] >= v })
		if at == len(a) {
			return false
		}
		if *comparisons++; a[at] == v {
			return true
		}
	}
	return false
}

// stale reports whether an arrival was in the stored answer. Ephemeral events
// have no arrival number.
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

// wants reports whether one of the filters matches the event and the gate
// grants it to that very filter.
func (s *subscription) wants(n *news, comparisons *int) bool {
	for i := range s.filters {
		m := &s.filters[i]
		yes, cost := m.matches(n)
		*comparisons += cost
		if !yes {
			continue
		}
		*comparisons += len(n.Subject.P)
		if s.c.srv.backend.CanRead(m.scope, &n.Delivery) {
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

// goLive sends EOSE and what was kept. start says that the caller must start
// the connection's writer. If the relay has closed the subscription meanwhile,
// it does nothing but say why.
func (s *subscription) goLive(eose []byte) (start bool, closed *nip01.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		return false, s.why
	}
	s.c.say(eose)
	kept := s.kept
	s.releaseKept()
	now := nostr.Timestamp(s.c.srv.o.Now().Unix())
	for _, k := range kept {
		if !s.stale(k.seq) && (k.expires == 0 || k.expires > now) {
			start = s.push(k.json) || start
		}
	}
	s.live = true
	return start, nil
}

// closedFor returns why the relay has closed the subscription before it was
// live; nil if it has not.
func (s *subscription) closedFor() *nip01.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// close ends the subscription, once, from any goroutine: nothing of it is sent
// after this returns, but CLOSED with why, if there is one. While stored events
// are sent, that is left to who sends them.
func (s *subscription) close(why *nip01.Refusal) (first bool) {
	first, start := s.end(why)
	if !first {
		return false
	}
	s.c.feed.remove(s)
	s.c.filters.Give(s.holds)
	s.c.srv.o.Metrics.SubscriptionsAdd(-1)
	if why != nil {
		s.c.record.logRefused("subscription", why.Error())
	}
	if start {
		s.c.write()
	}
	return true
}

func (s *subscription) end(why *nip01.Refusal) (first, start bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false, false
	}
	s.ended = true
	s.releaseKept()
	switch {
	case why == nil:
	case s.live:
		s.c.say(wire.AppendClosed(nil, s.id, why.Error()))
		start = s.c.out.ready()
	default:
		s.why = why
	}
	return true, start
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
