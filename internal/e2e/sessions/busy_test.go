//go:build nightly

package sessions

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// attempts is how often a scenario is lived through whose hooks were late.
const attempts = 10

// attempt is a test that does not fail yet.
type attempt struct {
	testing.TB
	mu    sync.Mutex
	wrong []string
	late  bool // a hook took so long that it may have told less than it knows
	over  bool
}

// unhurried lives through a scenario, again where it came out wrong and hooks were
// late: they have 1 s, and relays 2 s at a start, by the clock, however busy
// the machine is. What is wrong although they were not late is wrong.
func unhurried(t *testing.T, scenario func(t testing.TB)) {
	t.Helper()
	for n := 1; ; n++ {
		a := &attempt{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			scenario(a)
		}()
		<-ended
		a.mu.Lock()
		wrong, again := a.wrong, a.late && n < attempts
		a.over = true
		a.mu.Unlock()
		if len(wrong) == 0 {
			return
		}
		for _, text := range wrong {
			t.Logf("attempt %d, hooks were late: %v: %s", n, a.late, text)
		}
		if !again {
			t.Fatalf("attempt %d failed", n)
		}
	}
}

// took notes how long a hook took, from its start to its end.
func (a *attempt) took(event string, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late = a.late || d > time.Second || event != "session-start" && d > 900*time.Millisecond
}

func (a *attempt) fail(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over { // what is undone at the end of the test
		a.TB.Error(text)
		return
	}
	a.wrong = append(a.wrong, text)
}

func (a *attempt) Error(args ...any)                 { a.fail(fmt.Sprintln(args...)) }
func (a *attempt) Errorf(format string, args ...any) { a.fail(fmt.Sprintf(format, args...)) }
func (a *attempt) Fail()                             { a.fail("failed") }

func (a *attempt) Fatal(args ...any) {
	a.fail(fmt.Sprintln(args...))
	runtime.Goexit()
}

func (a *attempt) Fatalf(format string, args ...any) {
	a.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (a *attempt) FailNow() {
	a.fail("failed")
	runtime.Goexit()
}

// Failed implements testing.TB.
func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.wrong) > 0
}
