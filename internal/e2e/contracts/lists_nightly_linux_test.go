//go:build nightly

package contracts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
)

// TestListsThatStrangersFill: 60,000 engrams and 20,000 offers by as many keys, all of
// which name one key, keep its lists from nothing: both answer in 2 seconds and 100 MB.
func TestListsThatStrangersFill(t *testing.T) {
	const engrams, offers, readable = 60_000, 20_000, 600
	owner, agent, at := relaytest.Agent(), relaytest.NewKey(1_000_001), time.Now().Unix()-200_000
	p := nostr.Tag{"p", owner.Pub}
	var lines bytes.Buffer
	put := func(ev *nostr.Event) { lines.Write(append(wire.AppendEvent(nil, ev), '\n')) }
	put(relaytest.Memory(agent, owner.Pub, "mem/mine", "here", at))
	put(relaytest.Sign(owner, 30078, at, "", nostr.Tag{"d", "engramd/agents"}, nostr.Tag{"p", agent.Pub}))
	mine := strings.Repeat("ab", 16)
	put(relaytest.State(owner, agent.Pub, mine, "open", "", at))
	payload := relaytest.Seal(agent, owner.Pub, "x", "x")
	for i := range engrams {
		k, now := relaytest.NewKey(uint64(i+1)), at+int64(i)
		if i < engrams-readable {
			put(relaytest.Sign(k, relaytest.KindEngram, now, payload, nostr.Tag{"d", fmt.Sprintf("%064x", i)}, p))
		} else {
			put(relaytest.Memory(k, owner.Pub, "mem/junk", "junk", now))
		}
		if i < offers {
			put(relaytest.State(k, owner.Pub, fmt.Sprintf("%032x", i), "open", "", now))
		}
	}
	relay := relaytest.Start(t, relaytest.Options{})
	if r := relay.Run(lines.Bytes(), "import", "--data", relay.Data, "-"); r.Code != 0 {
		t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
	}
	// The peak of a program is at least that of who started it: this one's is reset.
	lines = bytes.Buffer{}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	ctl := rig.NewCtl(t, relay)
	npub, err := nip19.EncodePublicKey(agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{npub: {"agents", "ls"}, mine: {"contract", "ls"}} {
		var took time.Duration
		var peak int64
		for range 3 { // other programs run beside a test
			var out, said bytes.Buffer
			cmd := exec.Command(ctl.Bin, args...)
			cmd.Env, cmd.Stdout, cmd.Stderr = ctl.Env, &out, &said
			start := time.Now()
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, said.Bytes())
			}
			took, peak = time.Since(start), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10
			if !strings.Contains(out.String(), want) {
				t.Fatalf("%v lacks what is the key's own; %d lines\n%s", args, strings.Count(out.String(), "\n"), said.Bytes())
			}
			if took <= 2*time.Second {
				break
			}
		}
		t.Logf("%v: %v, %d MB", args, took.Round(time.Millisecond), peak)
		if took > 2*time.Second || peak > 100 {
			t.Errorf("%v takes %v and %d MB", args, took, peak)
		}
	}
}
