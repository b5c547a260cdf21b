package websocket

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Bounds of who is behind.
const (
	comparisonsInTurn = 1 << 13         // comparisons in one turn: some 50 to 100 µs
	maxBehind         = 2 * time.Second // how late an event may be held against a subscription
	maxBacklog        = 32 << 20        // bytes of events that some connection has still to look at
)

var errBehind = failure("live events came faster than they could be held against your filters; ask for less, and again")

// lag works for a feed until nothing is left, in turns with others.
func (f *feed) lag() {
	f.lagging.Lock() // one before it has nothing left, and may not have risen yet
	defer f.lagging.Unlock()
	srv := f.c.srv
	for _, s := range f.list() {
		s.spent.Store(0)
	}
	srv.behind.add(f)
	defer srv.behind.remove(f)
	for f.c.ctx.Err() == nil {
		f.permit.Acquire(f.c.charged())
		_, idle, start := f.work(comparisonsInTurn)
		if start {
			f.c.write()
		}
		if !idle && srv.o.Now().Sub(f.task.news.at) > maxBehind {
			f.shed(1, comparisonsInTurn)
		}
		f.permit.Release()
		if idle {
			return
		}
	}
	f.drop()
}

// shed closes those n subscriptions that have cost most since the feed fell
// behind, if they have cost as much as least.
func (f *feed) shed(n int, least int64) {
	list := slices.Clone(f.list())
	slices.SortFunc(list, func(a, b *subscription) int { return int(b.spent.Load() - a.spent.Load()) })
	for _, s := range list[:min(n, len(list))] {
		if s.spent.Load() >= least && s.close(errBehind) {
			f.c.srv.o.Metrics.SubscriptionClosed("behind")
		}
	}
}

var errGiveWay = failure("the relay holds many filters, and others have few; ask for less, and again")

// giveWay closes the subscription that holds most, so that others can have
// some.
func (f *feed) giveWay() bool {
	var most *subscription
	for _, s := range f.list() {
		if most == nil || s.holds > most.holds {
			most = s
		}
	}
	if most == nil || !most.close(errGiveWay) {
		return false
	}
	f.c.srv.o.Metrics.SubscriptionClosed("filters")
	return true
}

// empty forgets what is queued if there are no subscriptions it could be for.
func (f *feed) empty() bool {
	f.edit.Lock() // no subscription comes meanwhile
	defer f.edit.Unlock()
	if len(f.list()) > 0 {
		return false
	}
	for _, t := range f.unqueue() {
		f.forget(t)
	}
	return true
}

var errLost = failure("live events came faster than the relay could deliver them; ask again")

// lost closes every subscription: the relay has stored events that it did not
// hand over.
func (s *Server) lost() {
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range conns {
		for _, sub := range c.feed.list() {
			if sub.close(errLost) {
				s.o.Metrics.SubscriptionClosed("behind")
			}
		}
	}
}

// behind is the feeds that have more to look at than could be done at once.
type behind struct {
	mu    sync.Mutex
	feeds map[*feed]struct{}
}

func (b *behind) add(f *feed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.feeds[f] = struct{}{}
}

func (b *behind) remove(f *feed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.feeds, f)
}

// furthest returns the feed whose next event has waited for longest; nil when
// none has one.
func (b *behind) furthest() (furthest *feed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var since time.Time
	for f := range b.feeds {
		if at, waits := f.waitsSince(); waits && (furthest == nil || at.Before(since)) {
			furthest, since = f, at
		}
	}
	return furthest
}

// unburden keeps the events that somebody has still to look at within their
// bound: who is furthest behind has subscriptions closed, the dearest half at a
// time, until there are none left to look at anything for.
func (s *Server) unburden() {
	for s.backlog.Load() > maxBacklog {
		f := s.behind.furthest()
		if f == nil {
			return
		}
		if !f.empty() {
			f.shed(len(f.list())/2+1, 0)
		}
	}
}
