package proof

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/cluster/jetstream"
)

// TestDeletedTextLeavesTheServers: after the log is trimmed past a deleted
// text, no file of its servers contains the text. A node trims messages that
// are an hour old by the servers' clock; here the log is trimmed at once, by
// the same call. internal/relay/cluster tests that nodes wait for the hour, and trim
// no more than all have executed. Servers discard what they copied among
// themselves some minutes later, so the test is part of the soak.
func TestDeletedTextLeavesTheServers(t *testing.T) {
	if !nodes.Soak() {
		t.Skip("servers take minutes: make cluster-soak")
	}
	c := nodes.Start(t, nodes.Options{Alone: true})
	const secret = "the text that is to be forgotten"
	k, at := relaytest.NewKey(905), c.Dial(0)
	ev := note(k, secret)
	mustStore(t, at, ev, relaytest.Deletion(k, time.Now().Unix(), []string{"e", ev.ID}))
	if files, err := c.Holds(secret); err != nil || len(files) == 0 {
		t.Fatalf("the text was never there: %v", err)
	}
	filler := func(n int) {
		for i := range n {
			mustStore(t, at, relaytest.Note(k, time.Now().Unix(), fmt.Sprint(time.Now().UnixNano(), i, strings.Repeat("x", 50_000))))
		}
	}
	filler(400) // several files' worth
	o := c.Node(0).Way.Options()
	o.Stream = stream
	conn, err := jetstream.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, last, err := conn.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	if err := conn.Trim(ctx, last-50); err != nil {
		t.Fatal(err)
	}
	trimmed := time.Now()
	c.Until("no server's folder has the text", 10*time.Minute, func() error {
		files, err := c.Holds(secret)
		if err == nil && len(files) > 0 {
			names := map[string]int{}
			for _, f := range files {
				names[filepath.Base(filepath.Dir(f))]++
			}
			err = fmt.Errorf("%d files have it: %v", len(files), names)
		}
		if err != nil {
			filler(1)
		}
		return err
	})
	t.Logf("no server's folder has the text %v after the log was trimmed", time.Since(trimmed).Round(time.Second))
}
