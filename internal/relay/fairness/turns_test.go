package fairness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"engramd/internal/relay/fairness"
)

func who(name string, conn uint64) fairness.Who { return fairness.Who{Share: name, Conn: conn} }

func take(t *testing.T, turns *fairness.Turns, w fairness.Who, quick bool) *fairness.Turn {
	t.Helper()
	turn, err := turns.Take(t.Context(), w, quick)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// backlog lets connections work at one place in pieces of a size, giving way
// after each, until so much is done, and returns what each share had, and each
// connection.
func backlog(units float64, shares map[string][]float64) map[string]float64 {
	turns := fairness.NewTurns(1, 0)
	had := map[string]float64{}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var all sync.WaitGroup
	total := 0.0
	for name, conns := range shares {
		for i, size := range conns {
			all.Go(func() {
				turn, err := turns.Take(ctx, who(name, uint64(i)), false)
				for err == nil {
					had[name] += size + 1 // no turn is for nothing
					had[fmt.Sprint(name, i)] += size + 1
					if total += size + 1; total >= units {
						stop()
					}
					turn.Spend(size)
					synctest.Wait() // all others wait
					err = turn.Yield(ctx)
				}
				if turn != nil {
					turn.Done()
				}
			})
		}
	}
	all.Wait()
	return had
}

// Who has many connections, or works in large pieces, gets no more than others;
// nor does who has few get less.
func TestEverybodyGetsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := make([]float64, 60)
		for i := range many {
			many[i] = 50
		}
		had := backlog(60_000, map[string][]float64{"many": many, "one": {10}, "two": {100, 1}})
		for _, name := range []string{"many", "one", "two"} {
			if got := had[name]; got < 19_500 || got > 20_500 {
				t.Errorf("%s had %v of 60,000", name, got)
			}
		}
		if a, b := had["two0"], had["two1"]; a < 9_500 || b < 9_500 {
			t.Errorf("the connections of one share had %v and %v", a, b)
		}
		for i := range many {
			if got := had[fmt.Sprint("many", i)]; got < 250 || got > 420 {
				t.Errorf("connection %d of 60 had %v of 20,000", i, got)
			}
		}
	})
}

// A newcomer has his turn soon, however many wait and whatever they had: of a
// new share at the next free place, of a share that is busy after those of its
// connections that have had as little.
func TestANewcomerIsNext(t *testing.T) {
	for _, c := range []struct {
		share string
		most  int
	}{{"new", 1}, {"many", 10}} {
		synctest.Test(t, func(t *testing.T) {
			turns := fairness.NewTurns(1, 0)
			ctx, stop := context.WithCancel(t.Context())
			served, next := make(chan bool), make(chan bool)
			work := func(name string, i uint64, newcomer bool) {
				for {
					turn, err := turns.Take(ctx, who(name, i), false)
					if err != nil {
						return
					}
					served <- newcomer
					<-next
					turn.Spend(1000)
					turn.Done()
				}
			}
			for i := range uint64(10) {
				go work("many", i, false)
			}
			for range 55 {
				synctest.Wait()
				<-served
				next <- true
			}
			<-served
			go work(c.share, 1000, true)
			synctest.Wait()
			next <- true
			n := 1
			for ; !<-served; n++ {
				next <- true
			}
			if n > c.most {
				t.Errorf("share %s: served as number %d", c.share, n)
			}
			stop()
			next <- true
		})
	}
}

// Places are kept for who is quick, and quick work does not wait for slow work.
func TestKeptPlacesAreForTheQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := fairness.NewTurns(3, 1)
		a, b := take(t, turns, who("a", 1), false), take(t, turns, who("a", 2), false)
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error)
		go func() {
			_, err := turns.Take(ctx, who("b", 1), false)
			refused <- err
		}()
		synctest.Wait()
		q := take(t, turns, who("a", 3), true)
		q.Done()
		if turns.Waiting() != 1 {
			t.Errorf("%d wait, want the slow one", turns.Waiting())
		}
		cancel()
		if err := <-refused; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// What turns out not to be quick waits with the slow ones.
		q = take(t, turns, who("a", 3), true)
		go func() { refused <- q.Yield(t.Context()) }()
		synctest.Wait()
		if turns.Waiting() != 1 {
			t.Error("what is no longer quick keeps the place")
		}
		take(t, turns, who("c", 1), true).Done()
		a.Done()
		if err := <-refused; err != nil {
			t.Error(err)
		}
		b.Done()
		q.Done()
		if turns.UnderWay() != 0 || turns.Waiting() != 0 {
			t.Errorf("%d under way, %d wait at the end", turns.UnderWay(), turns.Waiting())
		}
	})
}

// A long piece of work that yields costs others no more than what it does
// between.
func TestYieldLetsOthersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := fairness.NewTurns(1, 0)
		long := take(t, turns, who("a", 1), false)
		long.Spend(100)
		if err := long.Yield(t.Context()); err != nil || turns.Yields() != 0 {
			t.Fatalf("alone: %v, %d yields", err, turns.Yields())
		}
		order := make(chan string, 10)
		for i := range uint64(3) {
			go func() {
				turn := take(t, turns, who("b", i), false)
				order <- "b"
				turn.Spend(40)
				turn.Done()
			}()
		}
		synctest.Wait()
		if !long.Contended() {
			t.Error("three wait, and nobody says so")
		}
		go func() {
			long.Spend(200)
			if err := long.Yield(t.Context()); err != nil {
				t.Error(err)
			}
			order <- "a"
			long.Done()
		}()
		synctest.Wait()
		close(order)
		got := ""
		for name := range order {
			got += name
		}
		if got != "bbba" || turns.Yields() != 1 {
			t.Errorf("served %s with %d yields", got, turns.Yields())
		}
	})
}

// Whoever gives up leaves nothing behind, whether he waits for the first place
// or another one.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := fairness.NewTurns(1, 0)
		holder := take(t, turns, who("a", 1), false)
		holder.Spend(1000)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		for i := range uint64(3) {
			go func() {
				_, err := turns.Take(ctx, who("b", i), i == 0)
				errs <- err
			}()
		}
		synctest.Wait()
		cancel()
		for range 3 {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		ctx, cancel = context.WithCancel(t.Context())
		second := make(chan *fairness.Turn)
		go func() { second <- take(t, turns, who("b", 1), false) }()
		synctest.Wait()
		go func() { errs <- holder.Yield(ctx) }()
		turn := <-second
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		holder.Done()
		holder.Done()
		turn.Done()
		take(t, turns, who("c", 1), false).Done()
		if turns.Waiting() != 0 || turns.UnderWay() != 0 {
			t.Errorf("%d wait, %d under way", turns.Waiting(), turns.UnderWay())
		}
	})
}

// TestTurnsAtOnce takes, yields and gives up from many goroutines: no more
// places are out than there are.
func TestTurnsAtOnce(t *testing.T) {
	turns := fairness.NewTurns(3, 1).Bound(6, 50)
	var held atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(4) == 0 {
					go cancel()
				}
				turn, err := turns.Take(ctx, who(fmt.Sprint(i%5), uint64(i)), rnd.IntN(3) == 0)
				for n := rnd.IntN(4); err == nil && n >= 0; n-- {
					if held.Add(1) > 3 {
						t.Error("more places are held than there are")
					}
					turn.Spend(float64(rnd.IntN(30)))
					held.Add(-1)
					err = turn.Yield(ctx)
				}
				if turn != nil {
					turn.Done()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if turns.Waiting() != 0 || turns.UnderWay() != 0 {
		t.Errorf("%d wait, %d under way at the end", turns.Waiting(), turns.UnderWay())
	}
}

// TestIdleOnesAreForgotten: whoever comes from ever new connections takes a
// bounded room, and does not wait longer for it.
func TestIdleOnesAreForgotten(t *testing.T) {
	turns := fairness.NewTurns(2, 0)
	for i := range 20_000 {
		turn := take(t, turns, fairness.Who{Share: fmt.Sprint(i % 7000), Part: fmt.Sprint(i % 3), Conn: uint64(i)}, i%2 == 0)
		turn.Spend(float64(rand.IntN(100)))
		turn.Done()
	}
	if n := turns.Remembered(); n > 3*4096 {
		t.Errorf("%d nodes are remembered", n)
	}
}

func BenchmarkTake(b *testing.B) {
	turns := fairness.NewTurns(4, 1).Bound(32, 1e6)
	w := who("key 0123456789012345678901234567890123456789012345678901234567890123", 7)
	for b.Loop() {
		turn, err := turns.Take(context.Background(), w, true)
		if err != nil {
			b.Fatal(err)
		}
		turn.Done()
	}
}
