package clock

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// world is a machine with a clock that can be wrong, and a relay's data folder.
type world struct {
	t      *testing.T
	path   string
	now    time.Time     // by the clock
	lasted time.Duration // of the machine's run
	boot   string
	synced time.Time // what the system calls synchronised; zero: nothing
	log    bytes.Buffer
	jumped int
	*Guard
}

func (w *world) Boot() (string, time.Duration)          { return w.boot, w.lasted }
func (w *world) Synchronised() (now time.Time, ok bool) { return w.synced, !w.synced.IsZero() }

// open starts the relay: newest is when something arrived last.
func (w *world) open(newest int64) {
	w.Guard = New(Options{
		Path: w.path, Now: func() time.Time { return w.now }, Machine: w, Jumped: func() { w.jumped++ },
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	w.Open(newest)
}

const day = 24 * time.Hour

// pass lets time go by, as the clock shows it too; the relay looks now and then.
func (w *world) pass(d time.Duration) {
	for ; d > 0; d -= min(d, 10*time.Minute) {
		step := min(d, 10*time.Minute)
		w.now, w.lasted = w.now.Add(step), w.lasted+step
		w.Confirmed()
	}
}

// set sets the clock.
func (w *world) set(d time.Duration) { w.now = w.now.Add(d) }

// restart ends the relay and starts it again.
func (w *world) restart() {
	w.Close()
	w.open(0)
}

// reboot is a restart of the machine, which is off for a time.
func (w *world) reboot(off time.Duration) {
	w.Close()
	w.boot, w.lasted = w.boot+"+", time.Minute
	w.set(off)
	w.open(0)
}

func newWorld(t *testing.T) *world {
	return &world{t: t, path: filepath.Join(t.TempDir(), File), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), lasted: time.Hour, boot: "a"}
}

func (w *world) want(confirmed bool, warnings int) {
	w.t.Helper()
	if got := w.Confirmed(); got != confirmed {
		w.t.Errorf("confirmed: %v\n%s", got, &w.log)
	}
	if got := strings.Count(w.log.String(), "level=WARN"); got != warnings || w.jumped != warnings {
		w.t.Errorf("%d warnings, %d counted, want %d\n%s", got, w.jumped, warnings, &w.log)
	}
}

func TestClock(t *testing.T) {
	tests := map[string]func(w *world){
		"it goes": func(w *world) {
			w.pass(3 * day)
			w.want(true, 0)
		},
		"60 days ahead for seconds": func(w *world) {
			w.set(60 * day)
			w.want(false, 1)
			w.pass(10 * time.Second)
			w.want(false, 1)
			w.set(-60 * day)
			w.want(true, 1)
		},
		"400 days ahead at a start, and back": func(w *world) {
			w.Close()
			w.set(400 * day)
			w.open(0)
			w.want(false, 1)
			w.pass(10 * time.Second)
			w.Close()
			w.set(-400 * day)
			w.open(0)
			w.want(true, 1)
		},
		"ahead, and then further ahead": func(w *world) {
			w.set(60 * day)
			w.want(false, 1)
			w.pass(20 * time.Hour)
			w.set(340 * day)
			w.want(false, 2)
			w.pass(20 * time.Hour)
			w.want(false, 2)
		},
		"less than an hour": func(w *world) {
			w.set(50 * time.Minute)
			w.want(true, 0)
			w.set(-50 * time.Minute)
			w.want(true, 0)
			if w.Behind() != 50*time.Minute {
				w.t.Errorf("behind by %v", w.Behind())
			}
		},
		"a machine that slept": func(w *world) {
			w.set(30 * day)
			w.lasted += 30 * day
			w.want(true, 0)
		},
		"a restart after a month of the same run": func(w *world) {
			w.Close()
			w.set(30 * day)
			w.lasted += 30 * day
			w.open(0)
			w.want(true, 0)
		},
		"a restart after a month of a run without a name": func(w *world) {
			w.Close()
			w.boot = "another"
			w.set(30 * day)
			w.lasted += 30 * day
			w.open(0)
			w.want(true, 0)
		},
		"a reboot to where the run before began": func(w *world) {
			w.pass(3 * time.Hour)
			w.Close()
			w.boot, w.lasted = "b", w.lasted-3*time.Hour
			w.set(-3 * time.Hour)
			w.open(0)
			w.want(false, 1)
		},
		"a reboot after 3 days": func(w *world) {
			w.reboot(3 * day)
			w.want(true, 0)
		},
		"a reboot after 10 days, and then synchronised": func(w *world) {
			w.reboot(10 * day)
			w.want(false, 1)
			w.pass(time.Minute)
			w.synced = w.now
			w.want(true, 1)
		},
		"a reboot after 10 days that is synchronised": func(w *world) {
			w.synced = w.now.Add(10 * day)
			w.reboot(10 * day)
			w.want(true, 0)
		},
		"a process whose clock is not the machine's": func(w *world) {
			w.synced = w.now
			w.set(60 * day)
			w.want(false, 1)
		},
		"a virtual machine that stood still": func(w *world) {
			w.set(3 * day)
			w.synced = w.now
			w.want(true, 1)
		},
		"a clock that began anew": func(w *world) {
			known := w.now
			w.Close()
			w.boot, w.lasted, w.now = "b", time.Minute, time.Unix(1000, 0)
			w.open(0)
			w.want(false, 1)
			if w.Behind() != known.Sub(w.now) {
				w.t.Errorf("behind by %v", w.Behind())
			}
			w.now = known.Add(day)
			w.want(true, 1)
			if w.Behind() > 0 {
				w.t.Errorf("behind by %v", w.Behind())
			}
		},
		"behind by a year, and accepted": func(w *world) {
			w.set(-365 * day)
			w.want(false, 1)
			if w.Behind() != 365*day {
				w.t.Errorf("behind by %v", w.Behind())
			}
			if s, err := w.Accept(); err != nil || !s.Confirmed || !s.Known.Equal(w.now) {
				w.t.Errorf("%+v, %v", s, err)
			}
			w.want(true, 1)
			w.Close()
			w.open(w.now.Add(365 * day).Unix()) // what arrived by the other clock counts no more
			w.want(true, 1)
			if w.Behind() > 0 {
				w.t.Errorf("behind by %v", w.Behind())
			}
		},
		"a day of hours": func(w *world) {
			w.set(60 * day)
			w.pass(23*time.Hour + 30*time.Minute)
			w.want(false, 1)
			w.restart() // half an hour is lost
			w.pass(50 * time.Minute)
			w.want(false, 1)
			if s := w.Status(); s.Hours != 23 || s.Needed != 24 {
				w.t.Errorf("%+v", s)
			}
			w.pass(20 * time.Minute)
			w.want(true, 1)
		},
		"hours in which nothing ran": func(w *world) {
			w.set(60 * day)
			w.want(false, 1)
			w.Close()
			w.set(40 * time.Hour)
			w.lasted += 40 * time.Hour
			w.open(0)
			w.want(false, 1)
		},
		"hours in which it slept": func(w *world) {
			w.set(60 * day)
			w.want(false, 1)
			w.set(25 * time.Hour)
			w.lasted += 25 * time.Hour
			w.want(true, 1)
		},
		"a file that is lost": func(w *world) {
			w.Close()
			_ = os.Remove(w.path)
			w.set(60 * day)
			w.open(w.now.Add(-60 * day).Unix())
			w.want(false, 1)
		},
		"a file that is damaged": func(w *world) {
			w.Close()
			b, err := os.ReadFile(w.path)
			if err != nil {
				w.t.Fatal(err)
			}
			b[len(b)/2] ^= 1
			if err := os.WriteFile(w.path, b, 0o600); err != nil {
				w.t.Fatal(err)
			}
			w.open(w.now.Unix())
			w.jumped++ // which is warned of too
			w.want(true, 1)
		},
		"a crash": func(w *world) { // what arrived since the last hour counts
			w.pass(30 * time.Minute)
			newest := w.now.Unix()
			w.boot, w.lasted = "b", time.Minute
			w.set(-20 * time.Minute)
			w.open(newest)
			w.want(true, 0)
			if w.Behind() != 20*time.Minute {
				w.t.Errorf("behind by %v", w.Behind())
			}
		},
		"an upgrade": func(w *world) {
			for age, confirmed := range map[time.Duration]bool{time.Hour: true, 6 * day: true, 8 * day: false, -2 * time.Hour: false} {
				_ = os.Remove(w.path)
				w.open(w.now.Add(-age).Unix())
				if w.Confirmed() != confirmed {
					w.t.Errorf("the newest arrival is %v old: confirmed is %v", age, !confirmed)
				}
			}
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if w.Guard = New(Options{Now: func() time.Time { return w.now }, Machine: w}); w.Confirmed() || w.Behind() != 0 {
				t.Error("it is confirmed before anything is known")
			}
			w.open(0)
			w.want(true, 0)
			test(w)
		})
	}
}

// Whoever works without the relay goes by its file, and changes nothing.
func TestConfirms(t *testing.T) {
	w := newWorld(t)
	if !Confirms(w.path, w.now, w) {
		t.Error("no file, and not confirmed")
	}
	w.open(0)
	before, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	w.lasted += 100 * time.Hour
	for ahead, want := range map[time.Duration]bool{100 * time.Hour: true, 60 * day: false, -day: false} {
		if got := Confirms(w.path, w.now.Add(ahead), w); got != want {
			t.Errorf("%v ahead: %v", ahead, got)
		}
	}
	after, err := os.ReadFile(w.path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was written: %s, %v", after, err)
	}
	if err := os.WriteFile(w.path, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if Confirms(w.path, w.now, w) {
		t.Error("a damaged file confirms")
	}
}

// The file is kept while the relay runs, and at its end.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := &running{began: began}
		g := New(Options{Path: path, Now: time.Now, Machine: m})
		g.Open(0)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			g.Run(ctx, time.After)
		}()
		for _, after := range []time.Duration{90 * time.Minute, 3 * time.Hour} {
			time.Sleep(time.Until(began.Add(after)))
			synctest.Wait()
			s, err := read(path)
			if old := time.Since(time.Unix(s.Newest, 0)); err != nil || old > time.Hour {
				t.Errorf("after %v: %v old, %v", after, old, err)
			}
		}
		// What ends keeps the anchor once more.
		end()
		<-ended
	})
}

type running struct{ began time.Time }

func (r *running) Boot() (string, time.Duration)        { return "a", time.Since(r.began) }
func (*running) Synchronised() (now time.Time, ok bool) { return time.Time{}, false }

// The system is asked, whatever it says.
func TestSystem(t *testing.T) {
	name, first := System().Boot()
	again, second := System().Boot()
	if name == "" || second < first {
		t.Errorf("%q after %v, %q after %v", name, first, again, second)
	}
	System().Synchronised()
}

// Whatever is in the file: it is a state or an error, and what was written is read.
func FuzzParse(f *testing.F) {
	f.Add(sumOf("{}") + " {}")
	f.Add(sumOf(`{"anchor":{"clock":-1}}`) + ` {"anchor":{"clock":-1}}`)
	f.Add(sumOf(`{"doubted":{"clock":1099511627777}}`) + ` {"doubted":{"clock":1099511627777}}`)
	f.Add("")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parse(line)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), File)
		if err := write(path, &s); err != nil {
			t.Fatal(err)
		}
		again, err := read(path)
		if err != nil || again.Anchor != s.Anchor || again.Newest != s.Newest || again.Hours != s.Hours || again.point() != s.point() {
			t.Fatalf("%+v is read as %+v, %v", s, again, err)
		}
	})
}

// A node's machine may have another clock than the log that it goes by.
func TestAnotherClockIsTrusted(t *testing.T) {
	w := newWorld(t)
	w.Guard = New(Options{Path: w.path, Now: func() time.Time { return w.now }, Machine: w})
	if w.Trusts(w.now) {
		t.Error("before anything is known of the time")
	}
	w.open(0)
	w.pass(time.Hour)
	for off, want := range map[time.Duration]bool{0: true, 50 * time.Minute: true, -50 * time.Minute: true, 2 * time.Hour: false, -2 * time.Hour: false} {
		if got := w.Trusts(w.now.Add(off)); got != want {
			t.Errorf("%s off: %v", off, got)
		}
	}
	real := w.now
	w.set(-3 * time.Hour) // the log's time stands behind
	w.want(false, 1)
	if !w.Trusts(real) || w.Trusts(w.now) {
		t.Error("what agrees with the time that was known is not trusted, or what does not is")
	}
	w.synced = real.Add(5 * time.Hour)
	if !w.Trusts(w.synced) {
		t.Error("the machine says that its clock is synchronised")
	}
}

// A node tells its clock in its first message, when it does not know the log's time:
// what the anchor says of it must be known.
func TestAnotherClockIsTrustedBeforeTheOwnIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		anchor bool
		newest func(now int64) int64
		ahead  time.Duration
		want   bool
	}{
		"an anchor":           {true, func(now int64) int64 { return now }, 0, true},
		"days after it":       {true, func(now int64) int64 { return now }, 3 * day, true},
		"before it":           {true, func(now int64) int64 { return now }, -2 * time.Hour, false},
		"an arrival":          {false, func(now int64) int64 { return now }, time.Hour, true},
		"weeks after it":      {false, func(now int64) int64 { return now }, 30 * day, false},
		"an empty database":   {false, func(int64) int64 { return 0 }, 30 * day, true},
		"a file, and nothing": {true, func(int64) int64 { return 0 }, 30 * day, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if newest := c.newest(w.now.Unix()); c.anchor {
				w.open(newest)
				w.Close()
			}
			machine := w.now.Add(c.ahead)
			w.boot, w.lasted = "another", time.Minute
			w.Guard = New(Options{Path: w.path, Now: func() time.Time { return w.now }, Machine: w})
			w.Expect(c.newest(w.now.Unix()))
			if got := w.Trusts(machine); got != c.want {
				t.Errorf("it is trusted: %v", got)
			}
			if w.Confirmed() {
				t.Error("the log's time is confirmed, and not known")
			}
		})
	}
}
