package fairness

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// pouch is a connection that holds pieces and gives the last one back when
// asked.
type pouch struct {
	*Stake
	pieces []int64
	gave   int
	stuck  bool
}

func open(p *Budget, who Who) *pouch {
	h := &pouch{}
	h.Stake = p.Open(who, func() bool {
		if h.stuck || len(h.pieces) == 0 {
			return false
		}
		n := h.pieces[len(h.pieces)-1]
		h.pieces = h.pieces[:len(h.pieces)-1]
		h.gave++
		h.Give(n)
		return true
	})
	return h
}

func (h *pouch) take(n int64) Over {
	over := h.Take(n)
	if over == Within {
		h.pieces = append(h.pieces, n)
	}
	return over
}

func from(addr string, conn uint64) Who {
	share, part := OfAddr(netip.MustParseAddr(addr))
	return Who{Share: share, Part: part, Conn: conn}
}

func TestBudgetBounds(t *testing.T) {
	p := NewBudget(BudgetLimits{Conn: 10, Share: 15, Total: 40})
	a, b := open(p, from("192.0.2.1", 1)), open(p, from("192.0.2.1", 2))
	for _, step := range []struct {
		who  *pouch
		n    int64
		want Over
	}{
		{a, 8, Within}, {a, 3, OverConn}, {b, 7, Within}, {b, 2, OverShare}, {a, 1, OverShare}, {b, 11, OverConn},
	} {
		if got := step.who.take(step.n); got != step.want {
			t.Errorf("take %d: %v, want %v", step.n, got, step.want)
		}
	}
	if a.gave+b.gave != 0 {
		t.Errorf("%d and %d gave way for one that would have had more", a.gave, b.gave)
	}
	// Who has less in the same share gets it from the one that has most.
	a.Give(a.Used())
	a.pieces = nil
	b.Give(2)
	for range 5 {
		a.take(2)
	}
	if got := b.take(2); got != Within || a.gave != 1 || b.Used() != 7 || a.Used() != 8 {
		t.Errorf("%v: %d gave way, %d and %d are held", got, a.gave, a.Used(), b.Used())
	}
	if got := open(NewBudget(BudgetLimits{Share: 1}), from("192.0.2.1", 3)).take(2); got != OverShare {
		t.Errorf("more than a share may have: %v", got)
	}
	a.Close()
	b.Close()
	if p.Used() != 0 || len(p.root.below) != 0 {
		t.Errorf("%d bytes of %v are left", p.Used(), p.root.below)
	}
}

// Who has few gets them while somebody else has many, by share, then by part,
// then by connection; and the budget never holds more than it may.
func TestBudgetTakesFromWhoHasMost(t *testing.T) {
	p := NewBudget(BudgetLimits{Conn: 100, Share: 1000, Total: 1000})
	var greedy []*pouch
	for i := range 10 {
		h := open(p, from("192.0.2.1", uint64(i)))
		for range 9 + i%2 {
			h.take(10)
		}
		greedy = append(greedy, h)
	}
	filler := open(p, from("192.0.2.9", 50))
	for range 5 {
		filler.take(10)
	}
	if p.Used() != 1000 {
		t.Fatalf("%d bytes are held", p.Used())
	}
	victim := open(p, from("2001:db8::1", 99))
	for i := range 9 {
		if got := victim.take(10); got != Within {
			t.Fatalf("the %dth piece: %v", i, got)
		}
		if p.Used() > 1000 {
			t.Fatalf("%d bytes are held", p.Used())
		}
	}
	gave := 0
	for _, h := range greedy {
		gave += h.gave
		if h.gave > 2 {
			t.Errorf("one connection gave way %d times", h.gave)
		}
	}
	if gave != 9 || filler.gave != 0 {
		t.Errorf("%d pieces were taken from who had most, %d from who had few", gave, filler.gave)
	}
	// The greedy get no more now.
	if got := greedy[0].take(10); got != OverTotal {
		t.Errorf("who has most gets more: %v", got)
	}
	// Of one /48, the /64 with most gives way.
	p = NewBudget(BudgetLimits{Total: 100})
	wide, narrow := open(p, from("2001:db8:0:1::1", 1)), open(p, from("2001:db8:0:2::1", 2))
	for range 10 {
		wide.take(9)
	}
	if got := narrow.take(20); got != Within || wide.gave != 2 {
		t.Errorf("%v: %d gave way", got, wide.gave)
	}
	wide.stuck = true
	if got := narrow.take(20); got != OverTotal {
		t.Errorf("from who gives nothing: %v", got)
	}
}

// Those that cannot be told apart, and exempt ones, are each their own share.
func TestBudgetShares(t *testing.T) {
	for _, who := range []Who{{Share: Local}, {Share: "127.0.0.1", Exempt: true}} {
		p := NewBudget(BudgetLimits{Share: 10})
		for i := range 5 {
			who.Conn = uint64(i)
			if got := open(p, who).take(10); got != Within {
				t.Errorf("%+v: %v", who, got)
			}
		}
	}
	p := NewBudget(BudgetLimits{Share: 10})
	moves, stays := open(p, from("192.0.2.1", 1)), open(p, from("192.0.2.1", 2))
	moves.take(10)
	moves.stuck = true
	moves.Move(Who{Share: "key a", Conn: 1})
	if got := stays.take(10); got != Within {
		t.Errorf("after another has moved away: %v", got)
	}
	if moves.Used() != 10 || p.Used() != 20 {
		t.Errorf("%d of %d bytes moved", moves.Used(), p.Used())
	}
}

// Who waits gets what is given back: who holds nothing first.
func TestBudgetAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewBudget(BudgetLimits{Conn: 50 << 10, Share: 60 << 10, Total: 100 << 10})
		a, b := open(p, from("192.0.2.1", 1)), open(p, from("192.0.2.2", 2))
		a.take(50 << 10)
		b.take(50 << 10)
		got := make(chan string, 8)
		wait := func(name string, s *Stake, n int64, stop chan struct{}) {
			go func() { got <- fmt.Sprint(name, " ", s.Await(stop, n, time.Hour)) }()
			synctest.Wait()
		}
		same, other, third := open(p, from("192.0.2.1", 3)), open(p, from("192.0.2.3", 4)), open(p, from("192.0.2.4", 5))
		third.Await(nil, 1, time.Hour)
		wait("holds something", third.Stake, 10<<10, nil)
		wait("same share", same.Stake, 20<<10, nil)
		wait("holds nothing", other.Stake, 10<<10, nil)
		wait("own bound", b.Stake, 1<<10, nil)
		stop := make(chan struct{})
		wait("gives up", open(p, from("192.0.2.5", 6)).Stake, 90<<10, stop)
		close(stop)
		if s := <-got; s != "gives up false" {
			t.Error(s)
		}
		short := open(p, from("192.0.2.6", 7))
		if !short.Await(nil, spare, time.Hour) {
			t.Error("a short message had to wait")
		}
		short.Close()
		steps := []struct {
			from *pouch
			n    int64
			want string
		}{
			{b, 1<<10 + 1, "own bound true"},
			{b, 9 << 10, ""},
			{b, 1 << 10, "holds nothing true"},
			{a, 10 << 10, "holds something true"},
			{a, 20 << 10, "same share true"},
		}
		for _, step := range steps {
			step.from.Give(step.n)
			synctest.Wait()
			if step.want != "" {
				if s := <-got; s != step.want {
					t.Errorf("after %d more: %s, want %s", step.n, s, step.want)
				}
			}
		}
		if p.Used() > 100<<10 {
			t.Errorf("%d bytes are held", p.Used())
		}
		select {
		case s := <-got:
			t.Error(s)
		default:
		}
	})
}

// A connection that gives nothing back for long must give way.
func TestBudgetAwaitLosesPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewBudget(BudgetLimits{Total: 100 << 10})
		a, b := open(p, from("192.0.2.1", 1)), open(p, from("192.0.2.2", 2))
		a.take(60 << 10)
		a.take(40 << 10)
		start := time.Now()
		if !b.Await(nil, 10<<10, time.Second) || a.gave != 1 {
			t.Errorf("%d gave way", a.gave)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("after %v", waited)
		}
	})
}

// Whatever is taken, awaited, moved and given back in whatever order: nothing
// is lost and nothing waits although there is room.
func TestBudgetKeepsItsAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		p := NewBudget(BudgetLimits{Conn: 40_000, Share: 60_000, Total: 100_000})
		addrs := []string{"192.0.2.1", "192.0.2.2", "2001:db8:0:1::1", "2001:db8:0:2::1"}
		var all []*pouch
		for i := range 12 {
			all = append(all, open(p, from(addrs[i%4], uint64(i))))
		}
		waits := make([]chan bool, len(all))
		for range 4000 {
			i := rng.IntN(len(all))
			h, n := all[i], int64(5_000+rng.IntN(20_000))
			if waits[i] != nil {
				select {
				case <-waits[i]:
					waits[i] = nil
				default:
				}
			}
			switch rng.IntN(4) {
			case 0:
				h.Give(rng.Int64N(h.Used() + 1))
			case 1:
				h.pieces = nil // gives nothing when it is asked
				h.Take(n)
			case 2:
				h.Move(from(addrs[rng.IntN(4)], uint64(i)))
			case 3:
				if waits[i] == nil {
					done := make(chan bool, 1)
					waits[i] = done
					go func() { done <- h.Await(nil, n, time.Hour) }()
				}
			}
			synctest.Wait()
			sum := int64(0)
			for _, h := range all {
				sum += h.Used()
			}
			if sum != p.Used() || sum > 100_000 {
				t.Fatalf("seed %d: %d bytes are held, %d counted", seed, sum, p.Used())
			}
		}
		for _, h := range all {
			h.Close()
			synctest.Wait()
		}
		for range len(all) {
			for i, h := range all {
				synctest.Wait()
				h.Close()
				if waits[i] != nil {
					select {
					case <-waits[i]:
						waits[i] = nil
					default:
					}
				}
			}
		}
		for i, w := range waits {
			if w != nil {
				t.Errorf("seed %d: connection %d waits for ever", seed, i)
			}
		}
		if p.Used() != 0 || len(p.root.below) != 0 || len(p.waiting) != 0 {
			t.Errorf("seed %d: %d bytes, %d shares are left", seed, p.Used(), len(p.root.below))
		}
	})
}
