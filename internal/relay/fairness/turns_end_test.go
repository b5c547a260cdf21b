package fairness_test

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/fairness"
)

// While too many are under way, the dearest is ended for one who waits: of
// those who have most under way, the one that had most. Who has had little is
// left in peace, and who asked for more grace.
func TestTheDearestIsEnded(t *testing.T) {
	for _, c := range []struct {
		name  string
		had   [4]float64
		conns [4]string
		grace int // whose is endless; -1 nobody's
		ended int // of conns; -1 none
	}{
		{"a share with most", [4]float64{900, 150, 160, 0}, [4]string{"b", "many", "many", "c"}, -1, 2},
		{"little had", [4]float64{10, 20, 30, 40}, [4]string{"a", "b", "many", "many"}, -1, -1},
		{"much had", [4]float64{0, 150, 125, 0}, [4]string{"a", "b", "c", "e"}, -1, 1},
		{"much had by one of few", [4]float64{0, 900, 120, 130}, [4]string{"a", "b", "many", "many"}, -1, 3},
		{"the dearest has grace", [4]float64{0, 900, 120, 130}, [4]string{"a", "b", "many", "many"}, 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := fairness.NewTurns(4, 0).Bound(4, 100)
				var under []*fairness.Turn
				for i, name := range c.conns {
					turn := take(t, turns, who(name, uint64(i)), false)
					if i == c.grace {
						turn.Grace(math.Inf(1))
					}
					turn.Spend(c.had[i])
					if err := turn.Yield(t.Context()); err != nil {
						t.Fatal(err)
					}
					under = append(under, turn)
				}
				begun := false
				go func() {
					turn := take(t, turns, who("d", 9), false)
					begun = true
					turn.Done()
				}()
				synctest.Wait()
				ended := -1
				for range 20 {
					for i, turn := range under {
						turn.Spend(1)
						err := turn.Yield(t.Context())
						if errors.Is(err, fairness.ErrEnded) && ended < 0 {
							ended = i
							turn.Done()
							break
						}
						if err != nil {
							t.Fatalf("turn %d: %v", i, err)
						}
					}
					if ended >= 0 {
						break
					}
				}
				synctest.Wait()
				if ended != c.ended {
					t.Errorf("%d was ended, want %d", ended, c.ended)
				}
				if begun != (c.ended >= 0) || (turns.Ended() == 1) != (c.ended >= 0) {
					t.Errorf("begun: %v, %d ended", begun, turns.Ended())
				}
				for _, turn := range under {
					turn.Done()
				}
				synctest.Wait()
				if !begun || turns.UnderWay() != 0 {
					t.Errorf("at the end: begun %v, %d under way", begun, turns.UnderWay())
				}
			})
		})
	}
}

// Clear waits for what is under way, for a while, ends what then still is, and
// lets nothing begin but look-ups.
func TestClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := fairness.NewTurns(3, 1)
		cleared, resume := turns.Clear(time.Second)
		<-cleared // nobody is there
		resume()
		short, long, quick := take(t, turns, who("a", 1), false), take(t, turns, who("b", 1), false), take(t, turns, who("c", 1), true)
		waits := make(chan *fairness.Turn, 1)
		go func() { waits <- take(t, turns, who("d", 1), false) }()
		synctest.Wait()
		cleared, resume = turns.Clear(time.Second)
		short.Done()
		quick.Done()
		take(t, turns, who("c", 2), true).Done()
		if err := long.Yield(t.Context()); err != nil {
			t.Errorf("before its time: %v", err)
		}
		select {
		case <-cleared:
			t.Fatal("cleared while one is under way")
		case <-waits:
			t.Fatal("one began")
		case <-time.After(2 * time.Second):
		}
		if err := long.Yield(t.Context()); !errors.Is(err, fairness.ErrEnded) {
			t.Errorf("after its time: %v", err)
		}
		long.Done()
		<-cleared
		resume()
		(<-waits).Done()
		if turns.Ended() != 1 {
			t.Errorf("%d ended", turns.Ended())
		}
	})
}

// One that waits for its next place is ended at once.
func TestClearEndsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := fairness.NewTurns(1, 0)
		old := take(t, turns, who("a", 1), false)
		old.Spend(100)
		var young *fairness.Turn
		began, ended := make(chan bool), make(chan error)
		go func() {
			young = take(t, turns, who("b", 1), false)
			close(began)
		}()
		synctest.Wait()
		go func() { ended <- old.Yield(t.Context()) }()
		<-began
		synctest.Wait()
		cleared, resume := turns.Clear(time.Second)
		if err := <-ended; !errors.Is(err, fairness.ErrEnded) {
			t.Errorf("%v", err)
		}
		old.Done()
		if err := young.Yield(t.Context()); !errors.Is(err, fairness.ErrEnded) {
			t.Errorf("%v", err)
		}
		young.Done()
		<-cleared
		resume()
		take(t, turns, who("c", 1), false).Done()
	})
}

// What somebody had beyond his part is held against him when he comes back, as
// far as it is not forgiven.
func TestForgive(t *testing.T) {
	for _, forgive := range []float64{0, 1_000_000, 250} {
		synctest.Test(t, func(t *testing.T) {
			turns := fairness.NewTurns(1, 0).Forgive(forgive)
			greedy := take(t, turns, who("greedy", 1), false)
			greedy.Spend(1000)
			greedy.Done()
			holder := take(t, turns, who("other", 0), false)
			served := make(chan string, 20)
			go func() {
				take(t, turns, who("greedy", 1), false).Done()
				served <- "greedy"
			}()
			synctest.Wait()
			for i := range uint64(15) {
				go func() {
					turn := take(t, turns, who("other", i), false)
					served <- "other"
					turn.Spend(99)
					turn.Done()
				}()
				synctest.Wait()
			}
			holder.Done()
			at := 0
			for ; <-served != "greedy"; at++ {
			}
			if want := map[float64]int{0: 10, 1_000_000: 10, 250: 3}[forgive]; at < want-1 || at > want+1 {
				t.Errorf("forgiving beyond %v: %d others were served before, want %d", forgive, at, want)
			}
			for range 15 - at {
				<-served
			}
		})
	}
}

// Nobody waits for what is closed.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := fairness.NewTurns(1, 0)
		held := take(t, turns, who("a", 1), false)
		errs := make(chan error)
		go func() {
			_, err := turns.Take(t.Context(), who("b", 1), false)
			errs <- err
		}()
		synctest.Wait()
		turns.Close()
		if err := <-errs; !errors.Is(err, fairness.ErrClosed) {
			t.Error(err)
		}
		held.Done()
	})
}
