package memory

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// TestOneWriterWins: of several writers with one base exactly one is told that
// it wrote, on one relay and on three. A thousand rounds take minutes; they run
// in make soak (ENGRAMD_SOAK=1).
func TestOneWriterWins(t *testing.T) {
	rounds := 20
	if os.Getenv("ENGRAMD_SOAK") == "1" {
		rounds = 1000
	} else if testing.Short() {
		rounds = 5
	}
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var relays []string
			for range n {
				relays = append(relays, bridgetest.Start(t).URL)
			}
			writers := make([]*Memory, 6)
			for i := range writers {
				// Each lists the relays in another order, and they choose the same decider.
				writers[i] = agentOf(t, "agent", "owner", append(slices.Clone(relays[i%n:]), relays[:i%n]...), nil)
			}
			base := BaseNone
			var late atomic.Int32 // those whom the relay refused, after they had read the base
			// That all come one after the other in every round is no fault: then there
			// are more.
			for round := 0; round < rounds || late.Load() == 0 && round < 50*rounds; round++ {
				var won atomic.Int32
				var hash atomic.Pointer[string]
				var all sync.WaitGroup
				for i, m := range writers {
					slug := nipae.Slug(fmt.Sprint("mem/s", round/20)) // a burst on one slug would wait for the clock
					all.Go(func() {
						e, status, err := m.Set(t.Context(), slug, fmt.Sprint(round, " ", i), SetOptions{Base: base})
						switch {
						case err == nil && status.Decider == slices.Min(relays):
							won.Add(1)
							hash.Store(&e.Hash)
						case err == nil:
							t.Errorf("decided by %q", status.Decider)
						case !errors.Is(err, client.ErrConflict):
							t.Errorf("round %d: %v", round, err)
						case status.Compared:
							late.Add(1)
						}
					})
				}
				all.Wait()
				if won.Load() != 1 {
					t.Fatalf("round %d: %d of six won", round, won.Load())
				}
				if base = *hash.Load(); (round+1)%20 == 0 {
					base = BaseNone
				}
			}
			if late.Load() == 0 {
				t.Error("no two writers ever met at the relay: the test proves nothing")
			}
			t.Logf("%d rounds, %d refused by the relay", rounds, late.Load())
		})
	}
}

// TestWhoDecides: relays that cannot decide are passed over; one that could and
// does not answer is not.
func TestWhoDecides(t *testing.T) {
	plain := clienttest.StartHoard(t, &clienttest.Hoard{})
	ours := bridgetest.Start(t).URL
	m := agentOf(t, "agent", "owner", []string{plain, ours}, nil)
	one, status, err := m.Set(t.Context(), "mem/a", "one", SetOptions{Base: BaseNone})
	if err != nil || status.Decider != ours || client.Accepted(status.Published) != 2 {
		t.Fatalf("beside a relay without HTTP: %v, %+v", err, status)
	}
	if _, status, err := m.Set(t.Context(), "mem/a", "two", SetOptions{Base: BaseNone}); !errors.Is(err, client.ErrConflict) || len(status.Published) != 0 {
		t.Errorf("there is a text: %v, %+v", err, status)
	}
	alone := agentOf(t, "agent", "owner", []string{plain}, nil)
	if _, status, err := alone.Set(t.Context(), "mem/a", "two", SetOptions{Base: one.Hash}); err != nil || status.Decider != "" {
		t.Errorf("no relay decides: %v, %+v", err, status)
	}

	// The decider lacks the base, and gets it first.
	two, _, err := m.Get(t.Context(), "mem/a")
	if err != nil || two.Text != "two" {
		t.Fatal(two, err)
	}
	if _, status, err := m.Set(t.Context(), "mem/a", "three", SetOptions{Base: two.Hash}); err != nil || status.Decider != ours {
		t.Errorf("with a base that only the other relay has: %v, %+v", err, status)
	}

	// While the decider is down nothing is published, not even to relays that
	// would accept it.
	down := bridgetest.Down(t)
	three, _, err := m.Get(t.Context(), "mem/a")
	if err != nil {
		t.Fatal(err)
	}
	named := agentOf(t, "agent", "owner", []string{ours}, func(o *client.Options) { o.Decider = down })
	if _, _, err := named.Set(t.Context(), "mem/a", "four", SetOptions{Base: three.Hash}); !errors.Is(err, client.ErrNoRelay) {
		t.Errorf("the decider is down: %v", err)
	}
	named = agentOf(t, "agent", "owner", []string{ours, plain}, func(o *client.Options) { o.Decider = plain })
	if _, _, err := named.Set(t.Context(), "mem/a", "four", SetOptions{Base: three.Hash}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("the decider cannot: %v", err)
	}
	if got, _, err := m.Get(t.Context(), "mem/a"); err != nil || got.Text != "three" {
		t.Errorf("there is %q, %v", got.Text, err)
	}
}
