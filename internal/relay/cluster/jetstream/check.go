package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	askAgain  = 500 * time.Millisecond
	goneAfter = 4 * time.Second
	forgetFor = 3 // checks in a row that could not be made, and Watch says so
)

// Check verifies the stream and the servers that keep it. The error is
// ErrRefused with the setting's name, or ErrUnverified if something did not
// answer for as long as Options.Patience. A server that the others hold for dead
// need not answer: it is checked when it is back.
func (c *Conn) Check(ctx context.Context) error {
	return c.patiently(ctx, c.checkOnce)
}

// Watch checks once a minute (Options.CheckEvery) until ctx ends, and tells fn of
// each check: nil, ErrRefused, or ErrUnverified after three of them in a row.
func (c *Conn) Watch(ctx context.Context, fn func(error)) {
	ticker := time.NewTicker(c.o.CheckEvery)
	defer ticker.Stop()
	for unverified := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := c.Check(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrUnverified):
			unverified++
			c.o.Log.Warn("the log's settings could not be checked", "err", err, "times", unverified)
			if unverified < forgetFor {
				continue
			}
		default:
			unverified = 0
		}
		fn(err)
	}
}

// patiently repeats a check as long as it cannot be made.
func (c *setup) patiently(ctx context.Context, check func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	for {
		err := check(limited)
		if err == nil || errors.Is(err, ErrRefused) {
			return err
		}
		select {
		case <-limited.Done():
			return fmt.Errorf("%w: %w", ErrUnverified, err)
		case <-time.After(askAgain):
		}
	}
}

func (c *Conn) checkOnce(ctx context.Context) error {
	_, info, err := c.info(ctx)
	switch {
	case missing(err):
		return fmt.Errorf("%w: there is no stream %s: engramd cluster init makes that of a new cluster, and where it was lost the nodes begin again (docs/cluster.md, Beginning again)", ErrRefused, c.o.Stream)
	case errors.Is(err, ErrReplaced):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return err
	}
	if err := c.faults(info.Config); err != nil {
		return err
	}
	return c.checkServers(ctx, info.Cluster)
}

// checkServers checks all servers that can be asked, and that those which keep
// the stream are among them. keepers is nil as long as there is no stream.
func (c *Conn) checkServers(ctx context.Context, keepers *jetstream.ClusterInfo) error {
	names, dead, err := c.keepers(keepers)
	if err != nil {
		return err
	}
	var all []server
	var silent []error
	switch {
	case len(c.o.Monitor) > 0:
		all, silent = c.monitored(ctx)
	case c.o.SystemCredentials != "":
		if all, err = c.system(ctx, without(names, dead)); err != nil {
			return err
		}
		silent = make([]error, len(names)) // whoever is missing has not answered
	default: // TrustSync
		trusted := server{Name: c.nc.ConnectedServerName(), Version: c.nc.ConnectedServerVersion(), MaxPayload: c.nc.MaxPayload()}
		return trusted.fault()
	}
	for _, s := range all {
		if err := s.fault(); err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == s.Name })
	}
	if keepers == nil && len(silent) > 0 {
		return errors.Join(silent...) // any of them may be given the stream
	}
	return c.missed(names, dead, silent)
}

// missed judges the servers that nobody could ask: there may be as many as URLs
// that do not answer, and they must be known to be dead.
func (c *setup) missed(names, dead []string, silent []error) error {
	if len(names) > len(silent) {
		return fmt.Errorf("%w: cluster.monitor lacks the monitoring URL of server %s, which keeps the log", ErrRefused, strings.Join(names, ", "))
	}
	if alive := without(names, dead); len(alive) > 0 {
		return fmt.Errorf("server %s does not tell its settings: %w", strings.Join(alive, ", "), errors.Join(silent...))
	}
	if len(names) > 0 {
		c.o.Log.Warn("servers of the log are gone; their settings are checked when they are back", "servers", names)
	}
	return nil
}

// keepers returns the names of the servers that keep the stream, and of those
// among them that are gone.
func (c *setup) keepers(info *jetstream.ClusterInfo) (names, dead []string, err error) {
	if info == nil || c.o.Replicas == 1 && info.Leader == "" {
		return nil, nil, nil
	}
	if info.Leader == "" {
		return nil, nil, errors.New("the log has no leader")
	}
	names = []string{info.Leader}
	for _, peer := range info.Replicas {
		names = append(names, peer.Name)
		if gone(peer) {
			dead = append(dead, peer.Name)
		}
	}
	if len(names) != c.o.Replicas {
		return nil, nil, fmt.Errorf("%d servers keep the log, and %d should: %s", len(names), c.o.Replicas, strings.Join(names, ", "))
	}
	return names, dead, nil
}

// gone says whether the stream's leader, which hears from every server each second,
// has not done so for a while, or never. "Offline" is known minutes later only.
func gone(peer *jetstream.PeerInfo) bool {
	return peer.Offline || peer.Active > goneAfter || peer.Active == 0 && !peer.Current
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
