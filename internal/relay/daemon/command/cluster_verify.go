package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/cluster/verify"
	"engramd/internal/relay/daemon/wiring"
)

// verifying is how long the workload may work, and how long each of its clients pauses.
const (
	verifyLeast = time.Second
	verifyMost  = time.Hour
	verifyPace  = 250 * time.Millisecond
)

// nodeURLs are those of nodes.
type nodeURLs []string

func (u nodeURLs) Nodes() int       { return len(u) }
func (u nodeURLs) URL(i int) string { return u[i] }

func verifiable(urls []string, long time.Duration) error {
	for i, url := range urls {
		if !nostr.IsValidRelayURL(url) {
			return fmt.Errorf("--urls: %q is no URL of a relay, ws:// or wss://", url)
		}
		if slices.Contains(urls[:i], url) {
			return fmt.Errorf("--urls: %s twice", url)
		}
	}
	if len(urls) < 2 {
		return errors.New("--urls: name at least two nodes, each by a URL of its own, such as ws://a.example:7447,ws://b.example:7447")
	}
	if long < verifyLeast || long > verifyMost {
		return fmt.Errorf("--for: from %v to %v", verifyLeast, verifyMost)
	}
	return nil
}

// verify runs the workload against nodes that run, judges it, and removes what it wrote.
func (c *clusterCommand) verify(ctx context.Context) error {
	w := verify.NewWorld(nodeURLs(c.urls), strings.ToLower(rand.Text()))
	w.Pace, w.Quit = verifyPace, ctx.Done() // who interrupts the work is told how far it went
	for _, path := range c.keyFiles {
		id, err := wiring.SourceKey(path)
		if err != nil {
			return fmt.Errorf("--key-file %s: %w", path, err)
		}
		w.Given = append(w.Given, id)
	}
	for i, url := range c.urls {
		fmt.Fprintf(c.Stdout, "node %d: %s\n", i, url)
	}
	began := time.Now()
	err := w.Try()
	if err == nil {
		working, cancel := context.WithTimeout(ctx, c.lasts)
		w.Run(working)
		cancel()
		fmt.Fprintf(c.Stdout, "%s of work: %s\n", time.Since(began).Round(time.Second), w.Summary())
		err = w.Judge()
	}
	left, failed := w.Clean()
	if failed != nil {
		fmt.Fprintln(c.Stderr, failed)
	}
	if left != "" {
		fmt.Fprintf(c.Stdout, "left at the nodes: %s\n", left)
	}
	broken := w.Violations()
	for _, one := range broken[:min(len(broken), 20)] {
		fmt.Fprintf(c.Stdout, "BROKEN: %s\n", one)
	}
	switch {
	case err != nil:
		return err
	case len(broken) > 0:
		return fmt.Errorf("%d promises were broken", len(broken))
	}
	_, err = fmt.Fprintf(c.Stdout, "kept: every acknowledged write is at all nodes, no read of the latest was stale, of rival writes one won, no subscription had a gap or a repetition, all nodes show the same\n")
	return err
}
