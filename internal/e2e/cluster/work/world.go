// Package work is the workload of engramd cluster verify, which is in
// internal/relay/cluster/verify, with what needs the key that manages the nodes, and
// keys that vanish.
package work

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/cluster/verify"
)

// World is the clients of a workload, under one seed.
type World struct {
	*verify.World
	Manager relaytest.Key // of the nodes
	Name    string        // HOST by which every node is known
	keys    atomic.Int32
}

// NewWorld makes one.
func NewWorld(p verify.Place, manager relaytest.Key, name string, seed uint64) *World {
	return &World{World: verify.NewWorld(p, fmt.Sprint("seed ", seed)), Manager: manager, Name: name}
}

// Run has the clients work until ctx ends, and waits for them.
func (w *World) Run(ctx context.Context) { w.World.Run(ctx, w.vanishes, w.bans, w.UsedHeaders) }

// Write has clients write notes at every node until ctx ends, and nothing else.
func (w *World) Write(ctx context.Context) {
	var group sync.WaitGroup
	for i := range w.Nodes() {
		group.Go(func() {
			a := w.Actor(ctx, i)
			defer a.Close()
			for a.Pause(w.Pace) {
				w.Note(a.Conn(i))
			}
		})
	}
	group.Wait()
}

// Rounds has one client act so many times, and nobody else.
func (w *World) Rounds(ctx context.Context, n int, act func(*verify.Actor)) {
	a := w.Actor(ctx, 1)
	defer a.Close()
	for range n {
		act(a)
	}
}

// key is one that nobody had before.
func (w *World) key() client.Identity { return w.Key(int(1000 + w.keys.Add(1))) }

// vanishes has a key vanish that has written at several nodes.
func (w *World) vanishes(a *verify.Actor) {
	k := w.key()
	var wrote []*verify.Write
	for range 1 + a.IntN(3) {
		wrote = append(wrote, w.Publish(a.Conn(a.Any()), w.NoteOf(k)))
	}
	to := a.Any()
	vanished := w.Publish(a.Conn(to), w.Sign(k, relaytest.KindVanish, time.Now().Unix(), "", nostr.Tag{"relay", "ALL_RELAYS"}))
	w.Remove(vanished, wrote...)
	if vanished.Outcome == verify.Stored {
		w.Shows(a.Conn(a.Other(to)), wrote[0], false)
	}
	a.Pause(5 * w.Pace)
}

// Lost is how many of the last events that were acknowledged a node does not show, of
// which nobody removed any. An error says that it does not answer now.
func (w *World) Lost(node int) (lost int, err error) {
	recent := w.All()
	recent = slices.DeleteFunc(recent[max(0, len(recent)-400):], func(o *verify.Write) bool { return o.Outcome != verify.Stored })
	filter := nostr.Filter{Limit: len(recent)}
	for _, one := range recent {
		filter.IDs = append(filter.IDs, one.Event.ID)
	}
	c := w.Conn(node)
	defer c.Close()
	there, err := c.Query(filter)
	return len(recent) - len(there), err
}

// Acknowledged is how many events were.
func (w *World) Acknowledged() (n int) {
	for i := range w.Nodes() {
		n += w.Counted(verify.AcknowledgedAt(i))
	}
	return n
}
