package outbox

import (
	"context"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

const (
	firstPause = time.Second
	maxPause   = 10 * time.Minute
	// giveUp is how long an event that a relay calls invalid is sent again: the
	// relay's clock may be wrong, or a state that it lacks may reach it another
	// way.
	giveUp = time.Hour
)

// pause returns how long to wait after so many failures in a row.
func pause(failures int) time.Duration {
	d := firstPause
	for range failures - 1 {
		if d *= 2; d >= maxPause {
			return maxPause
		}
	}
	return d
}

// lane is the state of a lane whose next event a target did not take.
type lane struct {
	failures int
	until    time.Time
	since    time.Time // of the first refusal
	reason   string    // of the last one, as noted in the database
}

// task is an event to deliver, with its lane.
type task struct {
	store.OutboxItem
	ev   *nostr.Event // nil if it is damaged
	lane string
	// behind names other lanes: while something is held there, this event waits
	// too.
	behind []string
}

// taskOf finds an event's lane. Each author has one for a contract's entries,
// so that a refused entry of one party holds up nobody else. The states of a
// pair of keys share one, because each builds on the one before; the first of a
// pair builds on an open that one of the two addressed to their own key, which
// has a lane of its own. A stranger who uses the same id is in other lanes.
func taskOf(it store.OutboxItem) task {
	ev, err := wire.ParseEvent(it.JSON)
	x := task{OutboxItem: it, ev: ev, lane: it.Contract + " " + it.Author}
	if err != nil {
		x.ev = nil
		return x
	}
	if ev.Kind != niptemp.KindState {
		return x
	}
	own, other := it.Author, it.Author
	if p := ev.Tags.Find("p"); len(p) > 1 {
		other = p[1]
	}
	state := func(a, b string) string { return it.Contract + " " + min(a, b) + max(a, b) }
	x.lane = state(own, other)
	if own != other {
		x.behind = []string{state(own, own), state(other, other)}
	}
	return x
}

// held reports whether a task must not be tried in this pass, because it or one
// that it has to follow is held; then those that follow it are held too.
func (x *task) held(blocked map[string]bool) bool {
	for _, name := range x.behind {
		if blocked[name] {
			blocked[x.lane] = true
		}
	}
	return blocked[x.lane]
}

// failed notes a failure: of the lane, and of the target unless it refuses only
// this event. If the event ended the connection, other lanes have their turn
// next time. over says that the event is not sent again.
func (t *target) failed(ctx context.Context, x *task, v verdict, err error) (over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, word := t.box.o.Clock(), reason(err)
	l := t.lanes[x.lane]
	l.failures++
	l.until = now.Add(pause(l.failures))
	switch {
	case v == failed:
		if !now.Before(t.until) {
			t.failures++
			t.until = now.Add(pause(t.failures))
			t.complain("no delivery to a relay; what waits is sent later", t.failures, err)
		}
	case l.since.IsZero():
		l.since = now
		fallthrough
	default:
		over = hopeless(word) && now.Sub(l.since) >= giveUp
		if over || l.reason != word {
			if err := t.box.o.Store.OutboxRefused(ctx, t.name, x.ev, word, over); err != nil {
				t.box.o.Log.Error("outbox: a refusal was not noted", "err", err)
				over = false
			} else {
				l.reason = word
			}
		}
		t.complain("a relay refused an entry; it is sent again later", l.failures, err)
	}
	if over {
		t.box.o.Log.Warn("outbox: a relay calls an entry invalid and does not get it any more", "relay", t.label(), "reason", word)
		delete(t.lanes, x.lane)
		return true
	}
	t.lanes[x.lane] = l
	return false
}

// hopeless reports whether a relay refuses an event for something in the event,
// which does not change.
func hopeless(word string) bool { return word == "invalid" || word == "pow" }

// complain logs the 1st, 2nd, 4th, 8th, … failure in a row.
func (t *target) complain(text string, failures int, err error) {
	if failures&(failures-1) != 0 {
		return
	}
	t.box.o.Log.Warn("outbox: "+text, "relay", t.label(), "failures", failures, "reason", reason(err))
	t.box.o.Log.Debug("outbox: "+text, "relay", t.label(), "err", err)
}

// label returns the target's name for the log.
func (t *target) label() string {
	if t.local() {
		return "this relay"
	}
	return t.name
}

func (t *target) succeeded(lane string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = 0
	delete(t.lanes, lane)
}

// prune forgets lanes in which nothing waits, after a pass that saw everything.
func (t *target) prune(blocked map[string]bool) {
	for name := range t.lanes {
		if !blocked[name] {
			delete(t.lanes, name)
		}
	}
}

// next returns how long it is until a lane may be tried again; 0 if nothing
// waits.
func (t *target) next(blocked map[string]bool) (wait time.Duration) {
	if len(blocked) > 0 {
		wait = maxPause // what this relay has to take first may be withdrawn
	}
	now := t.box.o.Clock()
	for _, l := range t.lanes {
		if d := max(l.until.Sub(now), time.Millisecond); wait == 0 || d < wait {
			wait = d
		}
	}
	return wait
}
