//go:build nightly

package hostile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// latency is what a well-behaved client measures.
type latency struct{ publish, read quantiles }

type quantiles struct{ p50, p95 time.Duration }

func (l latency) String() string {
	return fmt.Sprintf("publish p50 %v p95 %v, read p50 %v p95 %v", l.publish.p50, l.publish.p95, l.read.p50, l.read.p95)
}

// wellBehaved is a client that writes one event at a time and reads one head at
// a time, as an agent does.
type wellBehaved struct {
	*rig.Peer
	agent, owner relaytest.Key
	clock        int64
}

func newWellBehaved(t *testing.T, relay *relaytest.Child) *wellBehaved {
	t.Helper()
	agent, owner := relaytest.Agent(), relaytest.Owner()
	c, err := again(func() (*relaytest.Client, error) { return relaytest.Dial(relay.URL) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Auth(agent); err != nil {
		t.Fatal(err)
	}
	w := &wellBehaved{Peer: &rig.Peer{Client: c, T: t}, agent: agent, owner: owner, clock: rig.Now() - 200_000}
	w.Store(relaytest.Memory(agent, owner.Pub, "core", "profile", w.clock))
	return w
}

// measure takes samples of each for a time. Signing is not part of what is
// measured.
func (w *wellBehaved) measure(long time.Duration) latency {
	w.T.Helper()
	head := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{w.agent.Pub},
		"#d": []string{relaytest.Address(w.agent, w.owner.Pub, "core")}, "#p": []string{w.owner.Pub}}
	var published, read []time.Duration
	for until := time.Now().Add(long); time.Now().Before(until) || len(read) < 100; {
		w.clock++
		ev := relaytest.Note(w.agent, w.clock, "well-behaved")
		start := time.Now()
		if ok := w.MustPublish(ev); !ok.True {
			w.T.Fatalf("the well-behaved client is refused: %q", ok.Message)
		}
		published = append(published, time.Since(start))
		start = time.Now()
		if a := w.MustQuery(head); len(a.Events) != 1 {
			w.T.Fatalf("the well-behaved client reads %d heads", len(a.Events))
		}
		read = append(read, time.Since(start))
	}
	return latency{quantilesOf(published), quantilesOf(read)}
}

func quantilesOf(samples []time.Duration) quantiles {
	slices.Sort(samples)
	return quantiles{p50: samples[len(samples)/2], p95: samples[len(samples)*95/100]}
}

// within reports whether beside stays within 3 × of alone. The floors are what
// scheduling alone can cost on two cores that the relay shares with the hostile
// clients, the measuring one and the disk: below them a ratio says nothing.
func (beside latency) within(alone latency) bool {
	const floor50, floor95 = 10 * time.Millisecond, 50 * time.Millisecond
	ok := func(b, a quantiles) bool {
		return b.p50 <= max(3*a.p50, floor50) && b.p95 <= max(3*a.p95, floor95)
	}
	return ok(beside.publish, alone.publish) && ok(beside.read, alone.read)
}
