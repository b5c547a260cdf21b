package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// TestWhoWasStruckOutJoinsAgain: a node that was struck out while it was off joins again
// at its start, with the others' database and its own keys; a second time in a day a
// person has it do so. The others strike out after seconds.
func TestWhoWasStruckOutJoinsAgain(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Alone: true, Faults: map[int]string{0: "strike-soon", 1: "strike-soon"}})
	k, at, gone := relaytest.NewKey(2126), c.Dial(0), c.Node(2)
	kept := func() []string {
		found, err := filepath.Glob(filepath.Join(gone.Data, ".struck-*", "engramd.db"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	mustStore(t, c.Dial(2), note(k, "at the node that will be gone"))
	away := func() {
		gone.Kill()
		n := 0
		c.Until("it is struck out", wait, func() error {
			n++
			mustStore(t, at, note(k, fmt.Sprint("meanwhile ", n, time.Now().UnixNano())))
			members, err := c.Members(t.Context(), 0)
			if err == nil && members != 2 {
				err = fmt.Errorf("%d members", members)
			}
			return err
		})
	}
	away()
	if err := gone.Start(); err != nil {
		t.Fatal(err)
	}
	if !gone.Said("has joined again") || len(kept()) != 1 {
		t.Fatalf("it does not say that it has joined again, or kept %v", kept())
	}
	if r := relaytest.RunBinary(t, relaytest.Build{}, nil, nil, "export", "--data", filepath.Dir(kept()[0])); r.Code != 0 || !strings.Contains(string(r.Stdout), "will be gone") {
		t.Errorf("what it had is not kept: %d %s", r.Code, r.Stderr)
	}
	mustStore(t, c.Dial(2), note(k, "after it"))
	wantSame(t, c)

	away()
	if err := gone.Start(); err == nil || !gone.Said("a person must have it join again") {
		t.Errorf("twice in a day: %v", err)
	}
	if err := gone.JoinAgain(); err != nil {
		t.Fatal(err)
	}
	if len(kept()) != 2 {
		t.Errorf("%v are kept", kept())
	}
	mustStore(t, c.Dial(2), note(k, "after a person"))
	wantSame(t, c)

	gone.Kill() // who was taken out stays out
	if r := c.Node(0).Run("remove", "n2", "--yes"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	if err := gone.Start(); err == nil || !gone.Said("it was removed (engramd cluster remove)") {
		t.Errorf("it was taken out: %v", err)
	}
	if err := gone.JoinAgain(); err != nil {
		t.Fatal(err)
	}

	gone.Kill() // a database that is lost is not joined again without a person
	if err := os.Remove(filepath.Join(gone.Data, "engramd.db")); err != nil {
		t.Fatal(err)
	}
	if err := gone.Start(); err == nil || !gone.Said("engramd cluster rejoin fetches it") {
		t.Errorf("it starts without its database, or does not say what to do: %v", err)
	}
	if err := gone.JoinAgain(); err != nil {
		t.Fatal(err)
	}
	wantSame(t, c)
}

// TestJoinGoesOn: a join that was killed while it fetched goes on where it was, and until
// then a start names it. Without the keys of the others a node is told to copy them.
func TestJoinGoesOn(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Alone: true, Count: 2})
	k, at, n := relaytest.NewKey(2127), c.Dial(0), c.Node(1)
	for i := range 200 {
		mustStore(t, at, note(k, fmt.Sprint(i, strings.Repeat("x", 50_000))))
	}
	n.Kill()
	if err := n.JoinCutShort(); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err == nil || !n.Said("engramd cluster join was interrupted: run it again") {
		t.Errorf("it starts in the middle of a join: %v", err)
	}
	if r := n.Run("join"); r.Code != 0 || !strings.Contains(string(r.Stdout), "bytes of the database are here already") {
		t.Fatalf("%d %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if err := n.Start(); err == nil || !n.Said("copy relay.key and master.key of another node") || n.Said("adopt") {
		t.Errorf("it starts without the keys: %v", err)
	}
	n.CopyKeys(c.Node(0))
	n.MustStart()
	mustStore(t, c.Dial(1), note(k, "after it"))
	wantSame(t, c)
}
