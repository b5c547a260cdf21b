package fairness

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Turns lends a number of places, fairly: the next free one goes to the share
// that has had least, within it to the part, and then to the connection that
// has had least; what one connection waits for comes in its order. What was had
// is counted in units of work that the holder reports, so that many small
// pieces and few large ones weigh the same (start-time fair queueing). A share
// that comes back after a pause starts level with the others, not ahead of
// them, and what it had beyond its part is remembered for a while.
//
// A holder may give its place back in the middle of its work and wait for the
// next one (Yield): it stays under way, with what it needs for that. How many
// are under way at a time may be bounded (Bound). It is safe for concurrent
// use.
type Turns struct {
	mu      sync.Mutex
	free    int // places
	kept    int // of the places, how many only those who are quick get
	most    int // turns under way; 0 is no bound
	grace   float64
	tree    tree
	under   chain[Turn]       // turns under way, in the order in which they began
	usual   [numSorts]float64 // what is spent with one place, about
	ending  int               // turns under way that were told to end
	slow    int               // turns under way that are not quick
	cleared chan struct{}     // while nobody may begin who is not
	closed  chan struct{}

	waiting       atomic.Int64
	yields, ended atomic.Int64
}

// ErrEnded means that a turn was ended in the middle of its work, because
// others wait and too many are under way.
var ErrEnded = errors.New("ended in favour of others who wait")

// ErrClosed means that there are no more turns.
var ErrClosed = errors.New("there are no more turns")

// NewTurns lends places, of which kept are for those alone who say that they
// will be quick.
func NewTurns(places, kept int) *Turns {
	return &Turns{free: places, kept: kept, tree: newTree(), closed: make(chan struct{})}
}

// Bound allows at most this many turns under way: those that have a place, and
// those that gave it back for a while. As many of them as places are kept are,
// again, for the quick. When a turn waits that could have a place but for this
// bound, one turn is ended (its Yield fails with ErrEnded): of the share with
// the most under way, within it of the connection with the most, the one that
// has had most; but none that has had less than grace units. Its holder may
// take another turn and go on from there. Call Bound before the first Take.
func (t *Turns) Bound(most int, grace float64) *Turns {
	t.most, t.grace = max(most, t.free), grace
	return t
}

// Forgive bounds what is remembered of a holder who comes back after a pause:
// no more than this of what it had beyond its part. Call it before the first
// Take.
func (t *Turns) Forgive(units float64) *Turns {
	t.tree.debt = units
	return t
}

// Turn is a place that is held, or waited for.
type Turn struct {
	turns *Turns
	sort  sort
	leaf  *node         // nil once it is done
	given chan struct{} // closed when a place is given, or the turn is ended
	order uint64        // of waiting
	waits bool          // in the queue of its connection
	held  bool          // it has a place
	began bool
	over  atomic.Bool // it was told to end
	paid  float64     // charged in advance
	spent float64     // since the place was given
	total float64     // before that
	grace float64     // what it may have before it can be ended for others

	waited time.Duration // for the first place

	queued link[Turn] // among those who wait on its connection
	way    link[Turn] // among those under way
}

// Take waits for a place. Quick says that the work is a look-up of a few rows,
// which may use the places kept for such. The error is that of ctx. Give the
// place back with Done.
func (t *Turns) Take(ctx context.Context, who Who, quick bool) (*Turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	turn := &Turn{turns: t, sort: newSlow, grace: t.grace}
	if quick {
		turn.sort = newQuick
	}
	t.mu.Lock()
	turn.leaf = t.tree.enter(who)
	if t.queue(turn) {
		t.mu.Unlock()
		return turn, nil
	}
	t.mu.Unlock()
	start := time.Now()
	if err := turn.wait(ctx); err != nil {
		turn.Done()
		return nil, err
	}
	turn.waited = max(time.Since(start), 1)
	return turn, nil
}

// Waited returns how long Take waited for the place; 0 when there was one at
// once.
func (turn *Turn) Waited() time.Duration { return turn.waited }

// Grace replaces what the turn may have before it is ended in favour of those
// who wait to begin: more for who would otherwise never get anywhere, endless
// for who could not go on later. Call it right after Take.
func (turn *Turn) Grace(units float64) {
	turn.turns.mu.Lock()
	turn.grace = units
	turn.turns.mu.Unlock()
}

// Spend notes work done in this turn, in units, and returns how much it is
// since the place was given.
func (turn *Turn) Spend(units float64) float64 {
	turn.spent += units
	return turn.spent
}

// Contended reports whether a Yield has an effect: somebody waits, or the turn
// is to end.
func (turn *Turn) Contended() bool {
	return turn.over.Load() || turn.turns.waiting.Load() > 0
}

// Yield gives others their turn if it is theirs and waits for the next one of
// its own. The work after it does not count as quick. The error is that of ctx,
// or ErrEnded; then there is no place any more, and only Done is left to call.
func (turn *Turn) Yield(ctx context.Context) error {
	t := turn.turns
	t.mu.Lock()
	t.putBack(turn)
	if turn.over.Load() {
		t.serve()
		t.mu.Unlock()
		return ErrEnded
	}
	if turn.sort == newQuick {
		t.slow++
	}
	turn.sort = paused
	if t.queue(turn) {
		t.mu.Unlock()
		return ctx.Err()
	}
	t.mu.Unlock()
	t.yields.Add(1)
	return turn.wait(ctx)
}

// Done gives the place back, and what comes with being under way. It may be
// called more than once.
func (turn *Turn) Done() {
	t := turn.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn.leaf == nil {
		return
	}
	if turn.held {
		t.putBack(turn)
	}
	if turn.began {
		t.under.remove(&turn.way)
		turn.leaf.count(-1)
		if turn.sort != newQuick {
			t.slow--
			t.clear()
		}
	}
	if turn.over.Load() {
		t.ending--
	}
	t.tree.release(turn.leaf)
	turn.leaf = nil
	t.serve()
}

// Close ends all waiting, now and later, with ErrClosed. Call it once.
func (t *Turns) Close() { close(t.closed) }

// Clear lets nobody begin who is not quick, and closes cleared when none of
// them is under way any more; those that still are after patience are ended.
// Until resume is called, who waits to begin goes on waiting. Call it again
// only after that.
func (t *Turns) Clear(patience time.Duration) (cleared <-chan struct{}, resume func()) {
	done := make(chan struct{})
	t.mu.Lock()
	t.cleared = done
	t.clear()
	t.mu.Unlock()
	timer := time.AfterFunc(patience, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for at := t.under.first; at != nil && t.cleared == done; at = at.next {
			if at.of.sort != newQuick && !at.of.over.Load() {
				t.end(at.of)
			}
		}
	})
	return done, func() {
		timer.Stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.cleared = nil
		t.serve()
	}
}

// Waiting returns how many wait for a place.
func (t *Turns) Waiting() int { return int(t.waiting.Load()) }

// UnderWay returns how many turns have begun and are not done.
func (t *Turns) UnderWay() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.under.n
}

// Yields returns how often a holder gave its place to another in the middle of
// its work, since the beginning.
func (t *Turns) Yields() int64 { return t.yields.Load() }

// Ended returns how many turns were told to end before their work was done,
// since the beginning.
func (t *Turns) Ended() int64 { return t.ended.Load() }
