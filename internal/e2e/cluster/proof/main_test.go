// Package proof has the tests of nodes over a log, seen from outside.
package proof

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
)

// wait bounds every wait on a busy machine.
const wait = 3 * time.Minute

func TestMain(m *testing.M) {
	code := relaytest.Tests{M: m}.Run()
	if err := rig.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// note returns an event that is unique in this process.
func note(k relaytest.Key, text string) *event { return relaytest.Note(k, time.Now().Unix(), text) }

// mustStore publishes events at a node, which must store them.
func mustStore(t *testing.T, c *relaytest.Client, events ...*event) {
	t.Helper()
	for _, ev := range events {
		if ok, err := c.Publish(ev); err != nil || !ok.True {
			t.Fatalf("kind %d: OK %v %q, %v", ev.Kind, ok.True, ok.Message, err)
		}
	}
}

// wantSame compares the databases of all nodes.
func wantSame(t *testing.T, c *nodes.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*wait)
	defer cancel()
	difference, err := c.Same(ctx)
	if err := errors.Join(err); err != nil {
		t.Fatal(err)
	}
	if difference != "" {
		t.Error(difference)
	}
}
