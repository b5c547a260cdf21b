package fairness

import (
	"testing"
	"testing/synctest"
)

func TestSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewSeats(2)
		a, b := &Seat{Of: all}, &Seat{Of: all}
		a.Sit(Who{})
		a.Sit(Who{}) // stays
		b.Sit(Who{})
		got := make(chan string, 8)
		greedy := func(name string) {
			go func() {
				s := &Seat{Of: all, had: 1e6}
				s.Sit(Who{Share: "greedy"})
				got <- name
				s.Rise()
			}()
			synctest.Wait()
		}
		greedy("first")
		greedy("second")
		greedy("third")
		if all.Waiting() != 3 {
			t.Errorf("%d wait", all.Waiting())
		}
		a.Rise()
		if name := <-got; name != "first" {
			t.Error(name)
		}
		b.Rise()
		b.Rise()
		for range 2 {
			<-got
		}
		synctest.Wait()
		if all.free != 2 || all.Waiting() != 0 {
			t.Errorf("%d seats are free, %d wait", all.free, all.Waiting())
		}
		var none Seat
		none.Sit(Who{})
		none.Rise()
		// Of those who wait, the one that has had least is next, and of those who are level the modest.
		b.Sit(Who{})
		a.Sit(Who{})
		wait := func(name string, had float64) {
			go func() {
				s := &Seat{Of: all, had: had}
				s.Sit(Who{Share: name})
				got <- name
				s.Sit(Who{Share: name})
				s.Rise()
			}()
			synctest.Wait()
		}
		for i := range 3 {
			wait("greedy", 1e9+float64(i))
		}
		wait("modest", 1)
		a.Rise()
		for i, want := range []string{"modest", "greedy", "greedy", "greedy"} {
			if name := <-got; name != want {
				t.Errorf("turn %d went to %s, want %s", i, name, want)
			}
		}
		b.Rise()
	})
}
