package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine/steps"
)

// Work is counted in steps of SQLite's virtual machine, of which a second has
// some hundred million: an entry of an index that is looked at takes about ten,
// a value of a list that is compared with about as many.
const (
	stepsPerSecond = 100_000_000
	// How much is done, or how long it takes at most, until the caller and who
	// else waits are looked at. Much oftener costs much: a thread that comes
	// back from C when others have work may have to wait for them.
	stepsAtOnce = slice / 2
	timeAtOnce  = time.Millisecond
	// What beginning a statement counts for, and each of its arguments, and a
	// hundred bytes of them.
	stepsOfStatement = 300
	stepsOfArgument  = 5
	// slice is how much somebody may do while others wait: 2 ms, about.
	slice = stepsPerSecond / 500
	// grace is how much somebody may do before he can be ended because others
	// wait who cannot even begin.
	grace = slice
	// longGrace is that of who cannot go on later where he was: half a second.
	longGrace = stepsPerSecond / 2
	// debt is what is remembered at most, after a pause, of what somebody had
	// beyond his part: half a second.
	debt = stepsPerSecond / 2
	// connsPerTurn is how many connections there may be for a turn: who waits for
	// his next one in the middle of a statement keeps his.
	connsPerTurn = 8
)

// Pacing is how reads give way. Zero values are the constants above; tests have
// others.
type Pacing struct {
	Every int     // steps between two looks
	Slice float64 // steps between two turns of others
	Grace float64 // steps before a read can be ended in favour of who wants to begin
	Most  int     // connections lent at a time

	Sum *atomic.Int64 // of the steps that reads take; nil: nobody wants it
}

func (p Pacing) complete(turns int) Pacing {
	return Pacing{cmp.Or(p.Every, stepsAtOnce), cmp.Or(p.Slice, slice), cmp.Or(p.Grace, grace), cmp.Or(p.Most, turns*connsPerTurn), p.Sum}
}

// pace is the work of one read, done in turns. Its connection is blocked, in
// the middle of a statement, while it is not its turn.
type pace struct {
	ctx   context.Context
	turn  *fairness.Turn
	ends  <-chan struct{} // closed with the store
	slice float64         // steps between two turns of others
	left  float64         // steps it may do yet
	used  float64         // what it was charged for
	looks time.Time       // when it was looked at last
	had   time.Duration   // processor time of its thread then
	err   error           // why it was ended
	sum   *atomic.Int64   // Pacing.Sum
}

// begin starts a read: the goroutine keeps its thread until end, whose
// processor time is the measure of what it does.
func (p *pace) begin() {
	runtime.LockOSThread()
	p.looks = time.Now()
	p.had, _ = threadTime()
}

// end accounts for what is left.
func (p *pace) end() {
	p.charge(0)
	runtime.UnlockOSThread()
}

// watched has the pace of what c reads kept.
func watched(c *Conn, every int) (err error) {
	c.watch, err = steps.New(c.db, every, timeAtOnce, func(n int64) bool {
		return c.pace == nil || c.pace.did(float64(n)) == nil
	})
	return err
}

// statement is called before each statement.
func (p *pace) statement(args []Value) error {
	size := 0
	for _, a := range args {
		switch a := a.(type) {
		case string:
			size += len(a)
		case []byte:
			size += len(a)
		}
	}
	return p.did(stepsOfStatement + stepsOfArgument*float64(len(args)) + float64(size)/100)
}

// did accounts for steps done, and waits for the next turn when it is others'
// now. An error ends the read. What takes longer than its steps do (large rows,
// the full-text index) is charged for the time.
func (p *pace) did(n float64) error {
	if p.sum != nil {
		p.sum.Add(int64(n))
	}
	if p.err == nil {
		p.err = p.account(n)
	}
	return p.err
}

// charge accounts for steps, or for the time that they took if that is more,
// and returns what was done since the last turn of others. It is processor
// time: on a relay with much to do, who looks something up waits for a
// processor many times as long as he needs it, and would soon have had, by the
// clock, more than those that he waits for.
func (p *pace) charge(n float64) float64 {
	now := time.Now()
	if took := now.Sub(p.looks); took.Seconds()*stepsPerSecond > n {
		if had, ok := threadTime(); ok {
			took, p.had = min(took, had-p.had), had
		}
		n = max(n, took.Seconds()*stepsPerSecond)
	}
	p.looks = now
	p.used += n
	return p.turn.Spend(n)
}

func (p *pace) account(n float64) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if p.left -= n; p.left < 0 {
		return fmt.Errorf("%w: more work than it may take", store.ErrTimeout)
	}
	if p.charge(n) < p.slice {
		return nil
	}
	select {
	case <-p.ends:
		return store.ErrClosed
	default:
	}
	if !p.turn.Contended() {
		return nil
	}
	err := p.turn.Yield(p.ctx)
	p.looks = time.Now()
	switch {
	case errors.Is(err, fairness.ErrEnded):
		return fmt.Errorf("%w: %w", store.ErrEnded, err)
	case errors.Is(err, fairness.ErrClosed):
		return store.ErrClosed
	}
	return err
}
