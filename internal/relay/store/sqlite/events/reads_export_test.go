package events

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"engramd/internal/relay/store/sqlite/engine"
)

// Restless makes reads give way all the time, and end in favour of each other.
func Restless(o *Options) {
	o.Readers, o.Pacing = 2, engine.Pacing{Every: 20, Slice: 1, Grace: 1, Most: 2}
}

// HoldScans takes every turn that is not kept for look-ups until release is
// called.
func HoldScans(o opened) (release func()) {
	s := o.inside()
	held, free := make(chan struct{}), make(chan struct{})
	for range engine.ThreadsInC(s.o.Readers) - 1 { // the writer's is one
		go func() {
			_ = s.db.Read(context.Background(), engine.Scan, func(context.Context, *engine.Conn) error {
				held <- struct{}{}
				<-free
				return nil
			})
		}()
		<-held
	}
	return func() { close(free) }
}

// Charged is what a read is charged for that does fn, as time.
func Charged(o opened, fn func()) (time.Duration, error) {
	s := o.inside()
	l := engine.Loan{How: engine.Scan, Grace: math.Inf(1)}
	err := s.db.Lend(context.Background(), &l, func(context.Context, *engine.Conn) error { fn(); return nil })
	return l.Took(), err
}

// WatchWrites adds to sum the steps that writes take from now on.
func WatchWrites(o opened, sum *atomic.Int64) error { return engine.WatchWrites(o.inside().db, sum) }
