package daemon

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhileLeading: work runs while this node leads, never twice at a time, and
// has ended when while returns.
func TestWhileLeading(t *testing.T) {
	var leads atomic.Bool
	var told changes
	began, ended := make(chan struct{}, 10), make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		(&leadership{leads: leads.Load, changed: told.next}).while(ctx, func(ctx context.Context) {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
		})
	}()
	set := func(on bool) { leads.Store(on); told.tell() }
	for range 3 {
		set(true)
		<-began
		told.tell() // nothing changed
		set(true)
		set(false)
		<-ended
	}
	set(true)
	<-began
	if len(began) > 0 || len(ended) > 0 {
		t.Errorf("work began %d times more and ended %d times more", len(began), len(ended))
	}
	cancel()
	<-over
	if len(ended) != 1 {
		t.Error("work goes on when while has returned")
	}
}

// TestWorkThatEndsByItself: it is not run again before this node leads once
// more.
func TestWorkThatEndsByItself(t *testing.T) {
	var leads atomic.Bool
	var told changes
	leads.Store(true)
	ran := make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	looked := make(chan struct{}, 100)
	go func() {
		defer close(over)
		(&leadership{leads: func() bool { defer func() { looked <- struct{}{} }(); return leads.Load() }, changed: told.next}).while(ctx, func(context.Context) { ran <- struct{}{} })
	}()
	<-ran
	<-looked
	told.tell()
	<-looked
	leads.Store(false)
	told.tell()
	<-looked
	if len(ran) > 0 {
		t.Error("it ran again while this node led all the time")
	}
	leads.Store(true)
	told.tell()
	<-ran
	cancel()
	<-over
}

// TestAlone: a single process does the work itself.
func TestAlone(t *testing.T) {
	type key struct{}
	ctx, ran := context.WithValue(t.Context(), key{}, 1), false
	new(leadership).while(ctx, func(got context.Context) { ran = got == ctx })
	if !ran {
		t.Error("the work was not run, or with another context")
	}
}

// TestRousing: the leading node learns what others left to do by events, and
// without any after a while.
func TestRousing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		roused := make(chan struct{}, 10)
		l := &leadership{leads: func() bool { return true }, events: new(changes)}
		end := l.rousing(t.Context(), func() { roused <- struct{}{} })
		<-roused // it may have come already
		l.events.tell()
		<-roused
		synctest.Wait()
		if len(roused) > 0 {
			t.Error("roused without a reason")
		}
		time.Sleep(rousedEvery)
		<-roused
		end()
		l.events.tell()
		if len(roused) > 0 {
			t.Error("roused after its end")
		}
		alone := leadership{}
		alone.rousing(t.Context(), func() { t.Error("a process that is alone is roused") })()
	})
}

// TestHere: of several nodes one does what is done once for all, and a single
// process does it itself.
func TestHere(t *testing.T) {
	leads := false
	several, alone := leadership{leads: func() bool { return leads }}, leadership{}
	if several.here() || !alone.here() {
		t.Error("a node that does not lead does it, or a process that is alone does not")
	}
	if leads = true; !several.here() {
		t.Error("the node that leads does not do it")
	}
}

// TestLeaseIsTaken: what a leader writes carries its lease.
func TestLeaseIsTaken(t *testing.T) {
	type key struct{}
	l := &leadership{leads: func() bool { return true }, changed: new(changes).next,
		lease: func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 7) }}
	ctx, cancel := context.WithCancel(t.Context())
	l.while(ctx, func(ctx context.Context) {
		if ctx.Value(key{}) != 7 {
			t.Error("it runs without a lease")
		}
		cancel()
	})
}
