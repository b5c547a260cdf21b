package fairness

import "context"

// queue puts a turn at the end of its connection's queue, gives away what is
// free, and reports whether the turn got a place.
func (t *Turns) queue(turn *Turn) bool {
	turn.given = nil
	t.tree.push(turn)
	t.waiting.Add(1)
	t.serve()
	if turn.held {
		return true
	}
	turn.given = make(chan struct{})
	if !turn.waits { // it was ended at once
		close(turn.given)
	}
	return false
}

// wait returns when a place is given.
func (turn *Turn) wait(ctx context.Context) error {
	t := turn.turns
	var err error
	select {
	case <-turn.given:
	case <-ctx.Done():
		err = ctx.Err()
	case <-t.closed:
		err = ErrClosed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && turn.held:
		return nil
	case err == nil:
		return ErrEnded
	case turn.held: // both at once
		t.putBack(turn)
	case turn.waits:
		t.leave(turn)
	}
	t.serve()
	return err
}

// leave takes a turn out of its queue.
func (t *Turns) leave(turn *Turn) {
	t.tree.remove(turn)
	t.waiting.Add(-1)
}

// serve gives free places to those whose turn it is, and makes room for who
// would have one but for the bound of what is under way.
func (t *Turns) serve() {
	for t.free > 0 && t.waiting.Load() > 0 {
		slow := t.free > t.kept
		would := sorts{newQuick: true, newSlow: slow && t.cleared == nil, paused: slow}
		may := would
		if t.most > 0 {
			may[newQuick] = t.under.n < t.most
			may[newSlow] = would[newSlow] && t.under.n < t.most-t.kept
		}
		turn := t.tree.next(may)
		if may != would {
			if first := t.tree.next(would); first != turn && t.makeRoom() {
				continue // perhaps it was this one that was ended
			}
		}
		if turn == nil {
			return
		}
		t.leave(turn)
		t.give(turn)
	}
}

// give gives a turn a place.
func (t *Turns) give(turn *Turn) {
	t.free--
	turn.held = true
	if !turn.began {
		turn.began = true
		if turn.sort != newQuick {
			t.slow++
		}
		t.under.push(&turn.way, turn)
		turn.leaf.count(1)
	}
	turn.leaf.served()
	// Charged in advance, so that who has one place does not get the next one too
	// while others wait who have had nearly as little.
	turn.paid = t.usual[turn.sort]
	t.tree.charge(turn.leaf, turn.paid)
	if turn.given != nil {
		close(turn.given)
	}
}

// putBack takes a place back and charges for what was done with it.
func (t *Turns) putBack(turn *Turn) {
	t.free++
	turn.held = false
	spent := turn.spent + 1 // no turn is for nothing
	t.tree.charge(turn.leaf, spent-turn.paid)
	t.usual[turn.sort] += (spent - t.usual[turn.sort]) / 16
	turn.total += turn.spent
	turn.spent, turn.paid = 0, 0
}

// clear notes when nobody is under way who is not quick.
func (t *Turns) clear() {
	if t.cleared == nil || t.slow > 0 {
		return
	}
	select {
	case <-t.cleared:
	default:
		close(t.cleared)
	}
}

// makeRoom ends a turn, so that another can begin, and reports whether it did.
func (t *Turns) makeRoom() bool {
	if t.ending > 0 {
		return false
	}
	var worst *Turn
	for at := t.under.first; at != nil; at = at.next {
		if turn := at.of; turn.total >= turn.grace && (worst == nil || turn.dearer(worst)) {
			worst = turn
		}
	}
	if worst == nil {
		return false
	}
	t.end(worst)
	return true
}

// dearer compares what turns take that are under way.
func (turn *Turn) dearer(other *Turn) bool {
	a, b := turn.leaf, other.leaf
	for i := range a.path {
		if x, y := a.path[i].under, b.path[i].under; x != y {
			return x > y
		}
	}
	return turn.total > other.total
}

// end tells a turn to end.
func (t *Turns) end(turn *Turn) {
	turn.over.Store(true)
	t.ending++
	t.ended.Add(1)
	if turn.waits {
		t.leave(turn)
		if turn.given != nil {
			close(turn.given)
		}
	}
}
