package fairness

import (
	"testing"
	"testing/synctest"
)

func TestPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewPermits(2)
		a, b := &Permit{Of: all}, &Permit{Of: all}
		a.Acquire(Who{})
		a.Acquire(Who{}) // stays
		b.Acquire(Who{})
		got := make(chan string, 8)
		greedy := func(name string) {
			go func() {
				s := &Permit{Of: all, had: 1e6}
				s.Acquire(Who{Share: "greedy"})
				got <- name
				s.Release()
			}()
			synctest.Wait()
		}
		greedy("first")
		greedy("second")
		greedy("third")
		if all.Waiting() != 3 {
			t.Errorf("%d wait", all.Waiting())
		}
		a.Release()
		if name := <-got; name != "first" {
			t.Error(name)
		}
		b.Release()
		b.Release()
		for range 2 {
			<-got
		}
		synctest.Wait()
		if all.free != 2 || all.Waiting() != 0 {
			t.Errorf("%d seats are free, %d wait", all.free, all.Waiting())
		}
		var none Permit
		none.Acquire(Who{})
		none.Release()
		// Of those who wait, the one that has had least is next, and of those who are level the modest.
		b.Acquire(Who{})
		a.Acquire(Who{})
		wait := func(name string, had float64) {
			go func() {
				s := &Permit{Of: all, had: had}
				s.Acquire(Who{Share: name})
				got <- name
				s.Acquire(Who{Share: name})
				s.Release()
			}()
			synctest.Wait()
		}
		for i := range 3 {
			wait("greedy", 1e9+float64(i))
		}
		wait("modest", 1)
		a.Release()
		for i, want := range []string{"modest", "greedy", "greedy", "greedy"} {
			if name := <-got; name != want {
				t.Errorf("turn %d went to %s, want %s", i, name, want)
			}
		}
		b.Release()
	})
}

// Waiting returns how many wait for a permit.
func (s *Permits) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line.Len()
}
