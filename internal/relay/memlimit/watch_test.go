package memlimit

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// What is in use, C's memory included, is held against the limit; what C has is
// taken off Go's.
func TestWatch(t *testing.T) {
	var set int64
	u := Usage{Live: 50 * mib, Other: 10 * mib, Go: 90 * mib, Anon: 120 * mib}
	collected := 0
	collect := func() {
		collected++
		u.Collections++
		if u.Live == 99*mib {
			u.Live = 20 * mib // it was garbage for long
		}
	}
	w := New(100*mib, Options{Read: func() Usage { return u }, SetLimit: func(n int64) int64 { set = n; return n }, Collect: collect})
	want := func(what string, pressed bool, needed, limit int64) {
		t.Helper()
		w.look()
		if w.Pressed() != pressed || w.Needed()/mib != needed || set != limit {
			t.Errorf("%s: pressed %v, %d MiB needed, Go's limit %d", what, w.Pressed(), w.Needed()/mib, set)
		}
	}
	want("at first", false, 90, 70*mib)
	u.Live++
	want("a byte more", true, 90, 70*mib)
	u.Go = 200 * mib // more is mapped than was touched
	want("nothing foreign", false, 60, 100*mib)
	u.Go, u.Anon = 10*mib, 500*mib
	want("C has it all", true, 550, 50*mib)
	if collected == 0 {
		t.Error("nothing was collected to see whether the pressure is gone")
	}
	u.Anon, u.Live = 0, 99*mib
	was := collected
	want("garbage", false, 30, 100*mib)
	if collected != was+1 {
		t.Errorf("collected %d times", collected-was)
	}
	u.Live, u.Anon = 50*mib, 500*mib
	w.SetLimit(0)
	want("no limit", false, 550, math.MaxInt64)
	if w.Limit() != 0 {
		t.Errorf("limit %d", w.Limit())
	}
	w.SetLimit(1000 * mib)
	want("another limit", false, 550, 510*mib)
}

// Run looks again and again.
func TestRunKeepsLooking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		w := New(mib, Options{Read: func() Usage { looks.Add(1); return Usage{} }, SetLimit: func(n int64) int64 { return n }})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		before := looks.Load()
		time.Sleep(3*every + every/2)
		synctest.Wait()
		if n := looks.Load() - before; n < 3 {
			t.Errorf("it looked %d times", n)
		}
	})
}

// A limit from outside is left alone.
func TestWatchUnderALimitFromOutside(t *testing.T) {
	limit := int64(100 * mib)
	w := New(7, Options{Fixed: true, Read: func() Usage { return Usage{Live: 91 * mib} }, SetLimit: func(n int64) int64 {
		if n >= 0 {
			t.Errorf("the limit was set to %d", n)
		}
		return limit
	}})
	if !w.Pressed() || w.Limit() != limit {
		t.Errorf("pressed %v under %d", w.Pressed(), w.Limit())
	}
}

// The figures of this very process make sense.
func TestReadTheProcess(t *testing.T) {
	held := make([]byte, 64*mib)
	for i := range held {
		held[i] = 1
	}
	runtime.GC()
	u := read()
	runtime.KeepAlive(held)
	if u.Live < 64*mib || u.Live > 200*mib || u.Go < u.Live+u.Other || u.Other <= 0 {
		t.Errorf("%+v", u)
	}
	if runtime.GOOS == "linux" && (u.Anon < 64*mib || u.Foreign() > 100*mib && !testing.Short()) {
		t.Errorf("%+v", u)
	}
	if got := anonIn([]byte("Name:\tx\nRssAnon:\t   12 kB\nRssFile: 3 kB\n")); got != 12<<10 {
		t.Errorf("%d", got)
	}
	for _, bad := range []string{"", "RssAnon: 1 kB", "\nRssAnon: x kB\n"} {
		if got := anonIn([]byte(bad)); got != 0 {
			t.Errorf("%q: %d", bad, got)
		}
	}
}
