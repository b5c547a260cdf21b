package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	askAgain  = 500 * time.Millisecond
	goneAfter = 4 * time.Second
)

// Check verifies the stream and the servers that keep it. The error is
// ErrRefused with the setting's name, or ErrUnverified if something did not
// answer for as long as Options.Patience. A server that the others hold for dead
// need not answer: it is checked when it is back.
func (c *Conn) Check(ctx context.Context) error {
	return c.patiently(ctx, c.checkOnce)
}

// Watch looks at the stream and the servers once a minute (Options.CheckEvery) until
// ctx ends, as patiently as Check, and tells fn what it saw. The error is ErrRefused
// if the stream is not as it must be; what is wrong with servers is in the survey.
func (c *Conn) Watch(ctx context.Context, fn func(Survey, error)) {
	known := map[string]bool{}
	ticker := time.NewTicker(c.o.CheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		v, err := c.looked(ctx)
		if ctx.Err() != nil {
			return
		}
		v.remember(known)
		fn(v, err)
	}
}

// looked is a survey in which nothing is missing that could be learned in time.
func (c *Conn) looked(ctx context.Context) (v Survey, err error) {
	err = c.patiently(ctx, func(ctx context.Context) error {
		now := c.Survey(ctx)
		if ctx.Err() == nil || v.Servers == nil { // else it was cut short
			v = now
		}
		return cmp.Or(now.Trouble, now.open(c.o.Monitor))
	})
	if !errors.Is(v.Trouble, ErrRefused) {
		err = nil
	}
	return v, err
}

// remember notes what is known of the servers that keep the stream, and takes of those
// of which nothing is known now what was known last.
func (v *Survey) remember(loose map[string]bool) {
	if i := slices.IndexFunc(v.Servers, func(s Server) bool { return s.Keeps }); i >= 0 {
		maps.DeleteFunc(loose, func(name string, _ bool) bool {
			return !slices.ContainsFunc(v.Servers, func(s Server) bool { return s.Keeps && s.Name == name })
		})
	}
	for _, s := range v.Servers {
		if _, before := loose[s.Name]; s.Known && (s.Keeps || before) {
			loose[s.Name] = s.Loose
		}
	}
	v.Unsynced = nil
	for _, name := range slices.Sorted(maps.Keys(loose)) {
		if loose[name] {
			v.Unsynced = append(v.Unsynced, name)
		}
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
	v := c.Survey(ctx)
	if v.Trouble != nil {
		return v.Trouble
	}
	if err := faulty(c, v.Servers); err != nil {
		return err
	}
	if missed := v.unknown(false); len(missed) > 0 {
		c.o.Log.Warn("servers of the log are gone; their settings are checked when they are back", "servers", missed)
	}
	return v.open(c.o.Monitor)
}

// stands returns the stream, and ErrRefused if it is not what nodes can go by.
func (c *Conn) stands(ctx context.Context) (*jetstream.StreamInfo, error) {
	_, info, err := c.info(ctx)
	switch {
	case missing(err):
		return nil, fmt.Errorf("%w: there is no stream %s: engramd cluster init makes that of a new cluster, and where it was lost the nodes begin again (docs/cluster.md, Beginning again)", ErrRefused, c.o.Stream)
	case errors.Is(err, ErrReplaced):
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return nil, err
	}
	return info, c.faults(info.Config)
}

// faulty returns what is wrong with a server that was asked, or where none is asked
// with the one of this connection. One in reserve does not matter once it is known which
// servers keep the stream.
func faulty(c *Conn, all []Server) error {
	if !c.o.asks() {
		trusted := server{Name: c.nc.ConnectedServerName(), Version: c.nc.ConnectedServerVersion(), MaxPayload: c.nc.MaxPayload()}
		return trusted.fault()
	}
	kept := slices.ContainsFunc(all, func(s Server) bool { return s.Keeps })
	for _, s := range all {
		if s.Known && s.Fault != nil && (s.Keeps || !kept) {
			return s.Fault
		}
	}
	return nil
}

// unknown are the servers that keep the stream and were not asked: those that the
// others hold for alive, or those that are gone.
func (v *Survey) unknown(alive bool) (names []string) {
	for _, s := range v.Servers {
		if s.Keeps && s.Fault != nil && !s.Known && s.gone != alive {
			names = append(names, s.Name)
		}
	}
	return names
}

// open returns why it is not known of all servers that keep the stream, and live,
// how they are set up. Of more unknown ones than monitoring URLs do not answer there is
// no URL of some.
func (v *Survey) open(monitor []string) error {
	alive := v.unknown(true)
	all := append(v.unknown(false), alive...)
	switch {
	case len(monitor) > 0 && len(all) > len(v.Silent):
		return fmt.Errorf("%w: cluster.monitor lacks the monitoring URL of server %s, which keeps the log", ErrRefused, strings.Join(all, ", "))
	case len(alive) == 0:
		return nil
	}
	return fmt.Errorf("server %s keeps the log and does not tell its settings: %w", strings.Join(alive, ", "), cmp.Or(errors.Join(v.Silent...), errSilent))
}

// keepers returns the names of the servers that keep the stream, its leader first, and
// of those among them that are gone.
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
		return names, dead, fmt.Errorf("%d servers keep the log, and %d should: %s", len(names), c.o.Replicas, strings.Join(names, ", "))
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
