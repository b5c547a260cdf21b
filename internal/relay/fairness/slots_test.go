package fairness_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/fairness"
)

func of(name string) fairness.Who { return fairness.Who{Share: name} }

// enter starts one who waits for a place, and sends it to out.
func enter(s *fairness.Slots, who fairness.Who, out chan<- *fairness.Slot) {
	go func() {
		if p, err := s.Acquire(context.Background(), who); err == nil {
			out <- p
		}
	}()
	synctest.Wait()
}

// TestSlotsLeaveRoomForOthers: whatever many shares hold, one who comes new
// finds a place without waiting.
func TestSlotsLeaveRoomForOthers(t *testing.T) {
	for _, attackers := range []int{1, 2, 10, 100} {
		synctest.Test(t, func(t *testing.T) {
			s := fairness.NewSlots(fairness.SlotLimits{Places: 256, Waiting: 1 << 20, WaitingPerShare: 1 << 20, Patience: time.Minute})
			places := make(chan *fairness.Slot, 1<<12)
			for i := range 2000 {
				enter(s, of(fmt.Sprint(i%attackers)), places)
			}
			most := 256 - 256/(attackers+1)
			if n := s.Used(); n > most || n < most/2 {
				t.Errorf("%d shares hold %d places, want about %d", attackers, n, most)
			}
			start := time.Now()
			if _, err := s.Acquire(t.Context(), of("victim")); err != nil || time.Since(start) > 0 {
				t.Errorf("beside %d shares: %v after %v", attackers, err, time.Since(start))
			}
			if len(places) > most {
				t.Errorf("%d shares got %d places", attackers, len(places))
			}
			time.Sleep(time.Minute) // those that wait give up
			synctest.Wait()
			if n := s.Waiting(); n != 0 {
				t.Errorf("%d still wait", n)
			}
		})
	}
}

// TestSlotsServeWhoHasLeast: a place that comes free goes to the share that
// holds least, and of those to the one that was served longest ago.
func TestSlotsServeWhoHasLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fairness.NewSlots(fairness.SlotLimits{Places: 4, Waiting: 100, WaitingPerShare: 100, Patience: time.Hour})
		got := make(chan string, 100)
		places := make(chan *fairness.Slot, 100)
		enter := func(who fairness.Who, name string) {
			go func() {
				if p, err := s.Acquire(context.Background(), who); err == nil {
					got <- name
					places <- p
				}
			}()
			synctest.Wait()
		}
		for i := range 4 {
			enter(of(fmt.Sprint("party", i)), "party")
		}
		for range 10 {
			enter(fairness.Who{Share: "many", Part: "one"}, "many, one")
		}
		enter(fairness.Who{Share: "many", Part: "two"}, "many, two")
		enter(of("few"), "few")
		for range 4 {
			<-got
		}
		// The last place is left to those who hold none.
		for i, turn := range []struct {
			back int
			want string
		}{{1, "many, one"}, {1, "few"}, {2, "many, two"}} {
			for range turn.back {
				(<-places).Release()
				synctest.Wait()
			}
			if name := <-got; name != turn.want {
				t.Errorf("turn %d is that of %s, want %s", i, name, turn.want)
			}
		}
		for s.Waiting() > 0 {
			(<-places).Release()
			synctest.Wait()
		}
	})
}

// TestSlotsRefuse: too many of one share, too many in all, too long, and a
// context that ends; who is refused leaves nothing behind.
func TestSlotsRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fairness.NewSlots(fairness.SlotLimits{Places: 8, PerShare: 1, Waiting: 4, WaitingPerShare: 2, Patience: 5 * time.Second})
		first, err := s.Acquire(t.Context(), of("a"))
		if err != nil {
			t.Fatal(err)
		}
		var refused sync.Map
		wait := func(who fairness.Who, name string) {
			go func() {
				p, err := s.Acquire(context.Background(), who)
				refused.Store(name, err)
				p.Release()
			}()
			synctest.Wait()
		}
		want := func(name string, want error) {
			t.Helper()
			if err, there := refused.Load(name); !there || err == nil != (want == nil) || want != nil && !errors.Is(err.(error), want) {
				t.Errorf("%s: %v (%t), want %v", name, err, there, want)
			}
		}
		wait(of("a"), "second")
		wait(of("a"), "third")
		wait(of("a"), "fourth")
		want("fourth", fairness.ErrCrowded)
		wait(of("b"), "of another share")
		want("of another share", nil)
		for i := range 3 { // Local and who is exempt have no bound of their own
			wait(fairness.Who{Share: fairness.Local}, fmt.Sprint("local ", i))
			want(fmt.Sprint("local ", i), nil)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-time.After(time.Second)
			cancel()
		}()
		if _, err := s.Reacquire(ctx, of("a")); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that ends: %v", err)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		want("second", fairness.ErrPatience)
		want("third", fairness.ErrPatience)
		first.Release()
		first.Release()
		if s.Used() != 0 || s.Waiting() != 0 {
			t.Errorf("%d used, %d wait", s.Used(), s.Waiting())
		}
		s.SetLimits(fairness.SlotLimits{})
		if _, err := s.Acquire(t.Context(), of("a")); !errors.Is(err, fairness.ErrCrowded) {
			t.Errorf("without places: %v", err)
		}
	})
}

// TestRoomLeavesSomeForOthers: neither a share nor a part of one takes all.
func TestRoomLeavesSomeForOthers(t *testing.T) {
	r := fairness.NewRoom(1000)
	take := func(who fairness.Who, n int64) (got int64) {
		for r.Take(who, n) {
			got += n
		}
		return got
	}
	if n := take(of("a"), 10); n != 500 {
		t.Errorf("one share has %d", n)
	}
	if n := take(of("b"), 10); n != 250 {
		t.Errorf("the second has %d", n)
	}
	if r.Take(of("c"), 200) || !r.Take(of("c"), 100) {
		t.Error("the third has too much or nothing")
	}
	r.Give(of("c"), 100)
	r.Give(of("b"), 250)
	r.Give(of("a"), 500)
	shares := fairness.NewShares(fairness.Rules{})
	one, two := shares.Enter(netip.MustParseAddr("2001:db8:1:1::1")), shares.Enter(netip.MustParseAddr("2001:db8:1:2::1"))
	if n := take(one, 1); n != 333 {
		t.Errorf("one /64 has %d", n)
	}
	if n := take(two, 1); n < 80 {
		t.Errorf("the /64 beside it has %d", n)
	}
	if n := take(of("a"), 1); n < 200 {
		t.Errorf("another share has %d", n)
	}
}
