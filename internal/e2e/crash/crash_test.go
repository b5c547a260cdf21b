package crash

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// crashRounds is 25, or ENGRAMD_CRASH_ROUNDS (make soak: 200).
func crashRounds(t *testing.T) int {
	text := os.Getenv("ENGRAMD_CRASH_ROUNDS")
	if text == "" {
		return 15
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ENGRAMD_CRASH_ROUNDS=%q is not a number of rounds", text)
	}
	return n
}

// TestCrash_NothingAcknowledgedIsLost kills a relay under concurrent publishing
// again and again, on the same data. After each restart all that was
// acknowledged is there, nothing is half done, and the daemon's own check finds
// no fault.
func TestCrash_NothingAcknowledgedIsLost(t *testing.T) {
	const writers = 4
	rng := rand.New(rand.NewPCG(rig.Seed(t), 1))
	rounds := crashRounds(t)
	books := make([]*rig.Ledger, writers)
	for i := range books {
		books[i] = rig.NewLedger(uint64(1000+i), rng.Uint64())
	}
	const unpruned = "ENGRAMD_HISTORY_VERSIONS=1000000"                     // pruning would look like loss
	options := relaytest.Options{Build: rig.Plain, Env: []string{unpruned}} // it starts a hundred times
	relay := relaytest.Start(t, options)
	options.Data = relay.Data
	for round := range rounds {
		target, extra := 1+rng.IntN(400), time.Duration(rng.IntN(4000))*time.Microsecond
		publishUntilKilled(t, relay, books, target, extra)
		relay = relaytest.Start(t, options)
		verifyLedgers(t, relay, books)
		if t.Failed() {
			t.Fatalf("round %d of %d (killed after %d OKs and %v)\n%s", round+1, rounds, target, extra, relay.Log.Text())
		}
	}
	total := 0
	for _, b := range books {
		total += b.Acknowledged()
	}
	if total < rounds {
		t.Errorf("only %d events were acknowledged in %d rounds: the test proves nothing", total, rounds)
	}
	t.Logf("%d rounds, %d acknowledged events", rounds, total)
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

// publishUntilKilled lets every ledger publish on a connection of its own and
// kills the relay a moment after target OKs have arrived, so that the kill
// falls anywhere between two commits or into one.
func publishUntilKilled(t *testing.T, relay *relaytest.Child, books []*rig.Ledger, target int, extra time.Duration) {
	t.Helper()
	oks := make(chan struct{}, 1024)
	var publishing sync.WaitGroup
	for _, b := range books {
		c, err := relaytest.Dial(relay.URL)
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		publishing.Go(func() {
			defer c.Close()
			b.Publish(c, 0, oks)
		})
	}
	stopped := make(chan struct{})
	go func() {
		publishing.Wait()
		close(stopped)
	}()
	deadline := time.After(5 * time.Minute)
	for n := 0; n < target; n++ {
		select {
		case <-oks:
		case <-stopped:
			t.Fatalf("the writers stopped after %d OKs, before the kill\n%s", n, relay.Log.Text())
		case <-deadline:
			t.Fatalf("%d of %d OKs in five minutes\n%s", n, target, relay.Log.Text())
		}
	}
	moment := time.NewTimer(extra)
	defer moment.Stop()
	for waiting := true; waiting; {
		select {
		case <-oks:
		case <-moment.C:
			waiting = false
		}
	}
	relay.Kill()
	for draining := true; draining; {
		select {
		case <-oks:
		case <-stopped:
			draining = false
		}
	}
}

// verifyLedgers compares what the relay holds after a restart with what it has
// acknowledged.
func verifyLedgers(t *testing.T, relay *relaytest.Child, books []*rig.Ledger) {
	t.Helper()
	if r := relay.Run(nil, "check", "--data", relay.Data); r.Code != 0 {
		t.Errorf("engramd check: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	heads := rig.Exported(t, relay)
	all := rig.Exported(t, relay, "--history")
	for _, b := range books {
		for _, wrong := range b.Verify(heads, all, 0, 0) {
			t.Error(wrong)
		}
		c := rig.Dial(t, relay, b.Key, b.Owner)
		b.VerifyReads(t, c, heads)
		c.Close()
	}
}
