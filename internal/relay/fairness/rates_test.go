package fairness

import (
	"strconv"
	"testing"
	"time"
)

var epoch = time.Unix(1_700_000_000, 0)

func TestRatesRefill(t *testing.T) {
	r := NewRates(10)
	rate := Rate{PerSecond: 2, Burst: 3}
	take := func(n int, after time.Duration) bool {
		return r.Take(epoch.Add(after), Charge{Name: "a", N: n, Rate: rate}) < 0
	}
	for i, step := range []struct {
		n     int
		after time.Duration
		want  bool
	}{
		{3, 0, true}, {1, 0, false}, {1, 499 * time.Millisecond, false}, {1, 500 * time.Millisecond, true},
		{1, 500 * time.Millisecond, false}, {3, time.Hour, true}, {1, time.Hour, false},
		{1, 0, false}, // a clock that goes back gives nothing
		{100, 2 * time.Hour, true}, {1, 2 * time.Hour, false},
	} {
		if got := take(step.n, step.after); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
}

// Several budgets are taken from together or not at all.
func TestRatesTakeAllOrNothing(t *testing.T) {
	r := NewRates(10)
	wide, narrow := Rate{PerSecond: 1, Burst: 5}, Rate{PerSecond: 1, Burst: 2}
	both := func() int {
		return r.Take(epoch, Charge{What: 1, Name: "a", N: 1, Rate: wide}, Charge{What: 2, Name: "a", N: 1, Rate: narrow},
			Charge{What: 3, Name: "a", N: 1, Rate: Rate{}})
	}
	for i, want := range []int{-1, -1, 1, 1} {
		if got := both(); got != want {
			t.Errorf("call %d: %d, want %d", i, got, want)
		}
	}
	if got := r.Take(epoch, Charge{What: 1, Name: "a", N: 3, Rate: wide}); got != -1 {
		t.Error("what was refused was paid for")
	}
	if r.buckets.Len() != 2 {
		t.Errorf("%d budgets, one of which limits nothing", r.buckets.Len())
	}
}

func TestRatesThatChange(t *testing.T) {
	r := NewRates(10)
	take := func(rate Rate, after time.Duration) bool {
		return r.Take(epoch.Add(after), Charge{Name: "a", N: 1, Rate: rate}) < 0
	}
	slow, fast := Rate{PerSecond: 1, Burst: 1}, Rate{PerSecond: 10, Burst: 5}
	if !take(slow, 0) || take(fast, 0) {
		t.Error("a change gives what was used up")
	}
	for i := range 5 {
		if !take(fast, time.Second) {
			t.Errorf("after a second: %d", i)
		}
	}
	if take(fast, time.Second) || take(slow, time.Second) {
		t.Error("more than the burst")
	}
}

// One that goes on is not forgotten for those that come once.
func TestRatesAreBounded(t *testing.T) {
	r := NewRates(100)
	rate := Rate{PerSecond: 1e-9, Burst: 1}
	for i := range 10_000 {
		if r.Take(epoch, Charge{Name: strconv.Itoa(i), N: 1, Rate: rate}) >= 0 {
			t.Fatal("a newcomer has nothing")
		}
		if taken := r.Take(epoch, Charge{Name: "busy", N: 1, Rate: rate}) < 0; taken != (i == 0) {
			t.Fatalf("after %d others: %v", i, taken)
		}
	}
	if r.buckets.Len() != 100 {
		t.Errorf("%d budgets", r.buckets.Len())
	}
}

func TestRatesGiveBack(t *testing.T) {
	r := NewRates(10)
	c := Charge{Name: "a", N: 2, Rate: Rate{PerSecond: 1e-9, Burst: 3}}
	r.Give(c) // of nobody
	if r.Take(epoch, c) >= 0 || r.Take(epoch, c) < 0 {
		t.Fatal("not as it should be")
	}
	for range 5 {
		r.Give(c) // never more than a burst
	}
	for i, want := range []int{-1, 0} {
		if got := r.Take(epoch, c); got != want {
			t.Errorf("call %d: %d, want %d", i, got, want)
		}
	}
}

// TestPartOfARate: what n nodes let through together is what one does alone, for
// every n, and none is left without anything.
func TestPartOfARate(t *testing.T) {
	for _, nodes := range []int{0, 1, 2, 3, 7, 100} {
		now, taken := time.Unix(1_700_000_000, 0), 0
		rate := Rate{PerSecond: 10, Burst: 30}
		for range max(nodes, 1) {
			r := NewRates(10)
			r.SetPart(nodes)
			charge := Charge{Name: "a", N: 1, Rate: rate}
			for second := range 100 {
				for r.Take(now.Add(time.Duration(second)*time.Second), charge) < 0 {
					taken++
				}
			}
		}
		if most, least := 30+990+max(nodes, 1), 900; taken > most || taken < least {
			t.Errorf("%d nodes take %d, want %d to %d", nodes, taken, least, most)
		}
	}
	// A change holds at once, and what is larger than a part is not for ever too
	// large.
	now, r := time.Unix(1_700_000_000, 0), NewRates(10)
	large := Charge{Name: "a", N: 30, Rate: Rate{PerSecond: 10, Burst: 30}}
	r.SetPart(3)
	if r.Take(now, large) >= 0 || r.Take(now, large) < 0 {
		t.Error("a part of 10 does not let one charge of 30 through")
	}
	r.SetPart(1)
	if r.Take(now.Add(2*time.Second), large) < 0 || r.Take(now.Add(5*time.Second), large) >= 0 {
		t.Error("alone, a budget is not as before")
	}
	// No limit has no parts.
	r.SetPart(3)
	if r.Take(now, Charge{Name: "b", N: 1000}) >= 0 {
		t.Error("no limit became one")
	}
}

func TestRecent(t *testing.T) {
	r := NewRecent[string, int](2)
	r.Put("a", 1)
	r.Put("b", 2)
	r.Put("a", 3)
	r.Put("c", 4) // b was not used for longest
	if _, ok := r.Get("b"); ok {
		t.Error("b is still there")
	}
	if v, ok := r.Get("a"); !ok || v != 3 {
		t.Errorf("a: %d, %v", v, ok)
	}
	r.Put("d", 5)
	if _, ok := r.Get("c"); ok {
		t.Error("c is still there although a was used after it")
	}
}
