package replica

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// The keys of these tests. follower is the key with which relays follow.
var (
	agent, owner, stranger = relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	worker, follower       = relaytest.NewKey(4), relaytest.NewKey(6)
)

// keyFile writes a secret key into a file of its own.
func keyFile(t *testing.T, k relaytest.Key) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replica.key")
	if err := os.WriteFile(path, []byte(k.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// lets returns the configuration of a relay that lets the follower read
// everything.
func lets(more string) string {
	return more + fmt.Sprintf("[gate]\nreplicas = [%q]\n[contracts]\nany_id = true\n", follower.Pub)
}

func following(url, key, more string) string {
	return fmt.Sprintf("[[replica]]\nurl = %q\nkey = %q\ninterval = \"1s\"\n%s\n", url, key, more)
}

// awaitID waits until a relay shows an event by its id to one of its parties.
func awaitID(t *testing.T, p *rig.Peer, id string, there bool) {
	t.Helper()
	await(t, fmt.Sprintf("event %.8s there: %v", id, there), func() string {
		if got := p.MustQuery(relaytest.Filter{"ids": []string{id}}); (len(got.IDs()) == 1) != there {
			return fmt.Sprintf("%d events", len(got.IDs()))
		}
		return ""
	})
}

// TestFollow: missed events and new ones arrive with their history, are shown
// to their parties only, and are removed when their author deletes them.
func TestFollow(t *testing.T) {
	key := keyFile(t, follower)
	a := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: lets("")})
	at, now := rig.Dial(t, a, agent), rig.Now()-100
	var versions []*nostr.Event
	for i := range 3 {
		versions = append(versions, relaytest.Memory(agent, owner.Pub, "mem/one", fmt.Sprint("version ", i), now+int64(i)))
	}
	note := relaytest.Note(stranger, now, "hello")
	entries := []*nostr.Event{relaytest.Entry(agent, worker.Pub, "job", "message", "one", now), relaytest.Entry(agent, worker.Pub, "job", "message", "two", now+1)}
	at.Store(versions...)
	at.Store(note, entries[0], entries[1])

	b := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: lets(following(a.URL, key, "live = true"))})
	ownerThere := rig.Dial(t, b, owner)
	awaitID(t, ownerThere, versions[2].ID, true)
	awaitID(t, ownerThere, note.ID, true)
	caller := rig.NewCaller(t, b)
	awaitHistory(t, caller, owner, fmt.Sprintf("/history?kind=30174&author=%s", agent.Pub), 2)
	awaitHistory(t, caller, worker, fmt.Sprintf("/history?kind=30090&author=%s", agent.Pub), 1)
	rig.Dial(t, b).Closed("auth-required: ", relaytest.Filter{"kinds": []int{30174}})
	if got := rig.Dial(t, b, stranger).MustQuery(relaytest.Filter{"kinds": []int{30174}, "authors": []string{stranger.Pub}}); len(got.IDs()) > 0 {
		t.Errorf("a stranger sees %d engrams", len(got.IDs()))
	}

	// New events and deletions.
	live := relaytest.Memory(agent, owner.Pub, "mem/two", "live", now+10)
	at.Store(live)
	awaitID(t, ownerThere, live.ID, true)
	at.Store(relaytest.Deletion(agent, now+20, nostr.Tag{"e", live.ID}, nostr.Tag{"k", "30174"}))
	awaitID(t, ownerThere, live.ID, false)
	if _, err := b.AwaitMetric(`engramd_replica_live{replica="1"}`, relaytest.Patience, func(v float64) bool { return v == 1 }); err != nil {
		t.Error(err)
	}
	if v, err := a.Metric(`engramd_gate_decisions_total{decision="granted",rule="wildcard",surface="sync"}`); err != nil || v == 0 {
		t.Errorf("nothing was reconciled: %v, %v", v, err)
	}
	await(t, "status", func() string {
		status := b.Run(nil, "status", "--data", b.Data)
		if text := string(status.Stdout); !strings.Contains(text, "FOLLOWED") || !strings.Contains(text, "following") {
			return text + status.Stderr
		}
		return ""
	})
	if strings.Contains(b.Log.Text(), follower.Secret) || strings.Contains(b.Log.Text(), follower.Pub) {
		t.Error("the log shows a key")
	}

	// A key that was removed from the list gets nothing gated any more; a reload
	// removes the relay.
	reload(t, a, "[contracts]\nany_id = true\n")
	after := relaytest.Memory(agent, owner.Pub, "mem/three", "after", now+30)
	open := relaytest.Note(agent, now+31, "open")
	at.Store(after)
	at.Store(open)
	await(t, "the source refuses to be followed", func() string {
		if v, err := b.Metric(`engramd_replica_lag_seconds{replica="1"}`); err != nil || v == 0 {
			return fmt.Sprint(v, err)
		}
		return ""
	})
	if got := ownerThere.MustQuery(relaytest.Filter{"ids": []string{after.ID}}); len(got.IDs()) != 0 {
		t.Error("an engram came after the key was taken off the list")
	}
	reload(t, b, lets(""))
	if status := b.Run(nil, "status", "--data", b.Data); strings.Contains(string(status.Stdout), "FOLLOWED") {
		t.Errorf("a relay that is configured no more is followed: %s", status.Stdout)
	}
}

// reload writes another configuration and has the relay read it.
func reload(t *testing.T, c *relaytest.Child, config string) {
	t.Helper()
	if err := os.WriteFile(c.Config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Signal(syscall.SIGHUP)
	ctx, cancel := context.WithTimeout(t.Context(), relaytest.Patience)
	defer cancel()
	if _, err := c.Log.Wait(ctx, func(line string) bool { return strings.Contains(line, "configuration reloaded") }); err != nil {
		t.Fatalf("reload: %v\n%s", err, c.Log.Text())
	}
}
