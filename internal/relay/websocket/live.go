package websocket

import (
	"slices"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
)

// eventsTogether is how many events of a batch are queued before the writers
// start: several events to one client then go out in one system call.
const eventsTogether = 32

// Delivery itself makes at most so many comparisons: for one connection, and
// for all of them. Other goroutines make the rest in fair turns (feed.go).
const (
	comparisonsEach = 1 << 11
	comparisonsAll  = 1 << 17
)

// deliver takes committed and ephemeral events from the relay. It is called by
// the relay's dispatcher and by those who submit ephemeral events. It waits for
// no client, and no client's filters can hold it up for long.
func (s *Server) deliver(batch []relay.Delivery) {
	r, _ := s.live.rounds.Get().(*round)
	if r == nil {
		r = &round{}
	}
	now := s.o.Now()
	for part := range slices.Chunk(batch, eventsTogether) {
		for i := range part {
			s.route(r, &part[i], now)
		}
		r.serve()
		r.write()
	}
	r.clear()
	s.live.rounds.Put(r)
	s.unburden()
}

// route hands an event to the connections that it may concern, unless it has
// expired.
func (s *Server) route(r *round, d *relay.Delivery, now time.Time) {
	expires := expiration(d.Event)
	if expires != 0 && int64(expires) <= now.Unix() {
		return
	}
	r.event.of(s.live.hash, d.Event)
	s.live.concerned(r, &r.event)
	if len(r.tasks) == 0 {
		return
	}
	n := newNews(&r.event, d, expires, now)
	n.waiting.Store(int64(len(r.tasks)))
	s.backlog.Add(int64(n.holds))
	for i := range r.tasks {
		r.tasks[i].news = n
		if r.feeds[i].push(r.tasks[i]) {
			r.mine = append(r.mine, r.feeds[i])
		}
	}
}

// round is what delivery works with; rounds are used again.
type round struct {
	marks []mark // by the number of a connection
	count uint32
	event prepared
	tasks []task // of the event: one for each connection
	feeds []*feed
	mine  []*feed // those that wait for this round to work for them
	start []*conn // whose writers must be started
}

// mark says where in tasks a connection is, if it is of this count.
type mark struct{ count, at uint32 }

// begin starts with another event.
func (r *round) begin() {
	if r.count++; r.count == 0 {
		clear(r.marks)
		r.count = 1
	}
	r.tasks, r.feeds = r.tasks[:0], r.feeds[:0]
}

// note adds a place through which the event may concern a connection.
func (r *round) note(x *index, slot uint32, place uint64) {
	if int(slot) >= len(r.marks) {
		r.marks = append(r.marks, make([]mark, len(x.feeds)-len(r.marks))...)
	}
	if m := r.marks[slot]; m.count == r.count {
		r.tasks[m.at].note(place)
		return
	}
	r.marks[slot] = mark{r.count, uint32(len(r.tasks))}
	var t task
	t.note(place)
	r.tasks = append(r.tasks, t)
	r.feeds = append(r.feeds, x.feeds[slot])
}

// serve does what is quickly done, and leaves the rest to others.
func (r *round) serve() {
	left := comparisonsAll
	for _, f := range r.mine {
		spent, idle, start := f.work(min(comparisonsEach, left))
		left -= spent
		if start {
			r.start = append(r.start, f.c)
		}
		if !idle {
			go f.lag()
		}
	}
	clear(r.mine)
	r.mine = r.mine[:0]
}

// directWriters is how many clients' writers are attempted before others take
// over.
const directWriters = 128

// write starts the writers: those of the last few clients from here, and of
// others, when there are many, from goroutines, each for as many.
func (r *round) write() {
	for len(r.start) > directWriters {
		rest := len(r.start) - directWriters
		go writeInTurn(slices.Clone(r.start[rest:]))
		r.start = r.start[:rest]
	}
	writeAll(r.start)
	r.start = r.start[:0]
}

// writeInTurn is writeAll beside who delivers, as work of the relay's own.
func writeInTurn(conns []*conn) {
	permit := fairness.Permit{Of: conns[0].srv.permits}
	permit.Acquire(fairness.Who{})
	defer permit.Release()
	writeAll(conns)
}

func writeAll(conns []*conn) {
	for _, c := range conns {
		c.write()
	}
	if len(conns) > 0 {
		conns[0].srv.countQueued()
	}
}

// clear forgets what was found, so that it can be freed.
func (r *round) clear() {
	clear(r.event.tags[:cap(r.event.tags)])
	clear(r.tasks[:cap(r.tasks)])
	clear(r.feeds[:cap(r.feeds)])
	clear(r.start[:cap(r.start)])
	if cap(r.tasks) > 16<<10 || cap(r.event.tags) > 1<<10 {
		*r = round{}
	}
}
