package work

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// Place is where the nodes are.
type Place interface {
	Nodes() int
	URL(node int) string // it changes when a node is started again
}

// World is the clients of a workload, under one seed.
type World struct {
	*Record
	Place
	Manager relaytest.Key // of the nodes
	Name    string        // HOST by which every node is known
	Pace    time.Duration // between two acts of one client

	seed  uint64
	began time.Time
	keys  atomic.Uint64
	nonce atomic.Uint64
	group sync.WaitGroup
}

// NewWorld makes one.
func NewWorld(p Place, manager relaytest.Key, name string, seed uint64) *World {
	return &World{Record: NewRecord(), Place: p, Manager: manager, Name: name, Pace: 15 * time.Millisecond, seed: seed, began: time.Now()}
}

// Run has the clients work until ctx ends, and waits for them.
func (w *World) Run(ctx context.Context) {
	for i := range w.Nodes() {
		w.goOn(ctx, 100+i, func(a *Actor) { w.notes(a, i) })
		w.goOn(ctx, 200+i, func(a *Actor) { w.heads(a, i) })
		w.goOn(ctx, 300+i, func(a *Actor) { w.subscriber(a, i) })
	}
	w.goOn(ctx, 400, w.deletions)
	w.goOn(ctx, 401, w.vanishes)
	w.goOn(ctx, 402, w.contracts)
	w.goOn(ctx, 403, w.bans)
	w.goOn(ctx, 404, w.UsedHeaders)
	w.group.Wait()
}

// Write has clients write notes at every node until ctx ends, and nothing else.
func (w *World) Write(ctx context.Context) {
	for i := range w.Nodes() {
		w.goOn(ctx, 100+i, func(a *Actor) { w.Note(a.conn(i)) })
	}
	w.group.Wait()
}

// Rounds has one client act so many times, and nobody else.
func (w *World) Rounds(ctx context.Context, n int, act func(*Actor)) {
	a := w.actor(ctx, 1)
	defer a.close()
	for range n {
		act(a)
	}
}

// Actor is one client: its chance, and its ways to the nodes.
type Actor struct {
	*rand.Rand
	w     *World
	ctx   context.Context
	conns map[int]*Conn
}

// goOn has a client act again and again.
func (w *World) goOn(ctx context.Context, number int, act func(*Actor)) {
	w.group.Go(func() {
		a := w.actor(ctx, number)
		defer a.close()
		for a.pause(w.Pace) {
			act(a)
		}
	})
}

func (w *World) actor(ctx context.Context, number int) *Actor {
	return &Actor{Rand: rand.New(rand.NewPCG(w.seed, uint64(number))), w: w, ctx: ctx, conns: map[int]*Conn{}}
}

func (a *Actor) close() {
	for _, c := range a.conns {
		c.Close()
	}
}

// pause is false when the work is over.
func (a *Actor) pause(d time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return a.ctx.Err() == nil
	}
}

func (a *Actor) conn(node int) *Conn {
	if a.conns[node] == nil {
		a.conns[node] = NewConn(node, a.w.URL)
	}
	return a.conns[node]
}

// any is any node; other any but that.
func (a *Actor) any() int { return a.IntN(a.w.Nodes()) }

func (a *Actor) other(node int) int {
	return (node + 1 + a.IntN(max(1, a.w.Nodes()-1))) % a.w.Nodes()
}

// key is one that nobody had before.
func (w *World) key() relaytest.Key { return relaytest.NewKey(w.seed<<20 + 10_000 + w.keys.Add(1)) }

// topic is the tag of notes that are written now: another one each second.
func (w *World) topic(at time.Time) int { return int(at.Sub(w.began) / time.Second) }

func (w *World) topicName(n int) string { return fmt.Sprintf("topic-%d-%d", w.seed, n) }

func (w *World) text() string { return fmt.Sprintf("text %d", w.nonce.Add(1)) }

// noteOf is a note with a text that no other has.
func (w *World) noteOf(k relaytest.Key, tags ...nostr.Tag) *nostr.Event {
	return relaytest.Note(k, time.Now().Unix(), w.text(), tags...)
}

// reads asks a node for an event that was acknowledged, or that was removed, at
// another one before.
func (a *Actor) reads(node int, wrote *Write, there bool) { a.w.Shows(a.conn(node), wrote, there) }

// Note publishes a note that nobody removes.
func (w *World) Note(c *Conn) *Write {
	k := relaytest.NewKey(w.seed<<20 + 5000 + uint64(c.Node))
	return w.Publish(c, w.noteOf(k, nostr.Tag{"t", w.topicName(w.topic(time.Now()))}))
}

// Shows asks a node for an event that is there, or was removed, as another node
// has acknowledged before. No answer, and CLOSED, break no promise.
func (w *World) Shows(c *Conn, wrote *Write, there bool) {
	began := time.Now()
	answer, err := c.Query(relaytest.Filter{"ids": []string{wrote.Event.ID}})
	switch {
	case err != nil || !answer.EOSE:
		w.Count("reads that failed")
	case (len(answer.Events) > 0) != there:
		w.Broken("read your own write: node %d shows %d of %.8s, which was acknowledged %v before", c.Node, len(answer.Events), wrote.Event.ID, began.Sub(wrote.End))
	default:
		w.Count("reads")
	}
}
