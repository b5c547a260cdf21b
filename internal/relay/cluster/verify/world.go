package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// Place is where the nodes are.
type Place interface {
	Nodes() int
	URL(node int) string // it changes when a node is started again
}

// World is the clients of a workload, under one seed.
type World struct {
	record
	Place
	Pace  time.Duration     // between two acts of one client
	Given []client.Identity // write in the place of keys that follow from the seed
	Quit  <-chan struct{}   // closed when nothing late is waited for any more

	seed   string
	reader client.Identity // that connections prove, if a node wants one
	began  time.Time
	nonce  atomic.Uint64
	keys   sync.Map // public key to Identity
}

// NewWorld makes one.
func NewWorld(p Place, seed string) *World {
	return &World{record: record{broken: map[string]bool{}, counts: map[string]int{}}, Place: p, Pace: 15 * time.Millisecond, seed: seed, began: time.Now()}
}

// Run has the clients work until ctx ends, and waits for them. Each acts again and again.
func (w *World) Run(ctx context.Context, more ...func(*Actor)) {
	acts := append([]func(*Actor){w.deletions}, more...)
	if len(w.Given) != 1 {
		acts = append(acts, w.contracts)
	}
	for i := range w.Nodes() {
		acts = append(acts, func(a *Actor) { w.notes(a, i) }, func(a *Actor) { w.heads(a, i) }, func(a *Actor) { w.subscriber(a, i) })
	}
	var group sync.WaitGroup
	for i, act := range acts {
		group.Go(func() {
			a := w.Actor(ctx, i)
			defer a.Close()
			for a.Pause(w.Pace) {
				act(a)
			}
		})
	}
	group.Wait()
}

// Actor is one client: its chance, and its ways to the nodes.
type Actor struct {
	*rand.Rand
	Ctx context.Context
	w   *World
	c   *client.Client
}

// Actor makes a client.
func (w *World) Actor(ctx context.Context, number int) *Actor {
	return &Actor{Rand: rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, w.seed, " actor ", number)))), Ctx: ctx, w: w, c: client.New(w.reader, client.Options{})}
}

// Close ends its connections.
func (a *Actor) Close() { a.c.Close() }

// Pause is false when the work is over.
func (a *Actor) Pause(d time.Duration) bool {
	select {
	case <-a.Ctx.Done():
		return false
	case <-time.After(d):
		return a.Ctx.Err() == nil
	}
}

// Conn is the client's to a node.
func (a *Actor) Conn(node int) Conn { return Conn{node, a.w, a.c} }

// Any is any node.
func (a *Actor) Any() int { return a.IntN(a.w.Nodes()) }

// Other is any node but that.
func (a *Actor) Other(node int) int { return (node + 1 + a.IntN(max(1, a.w.Nodes()-1))) % a.w.Nodes() }

// Key is the n-th key.
func (w *World) Key(n int) client.Identity {
	if len(w.Given) > 0 {
		return w.Given[n%len(w.Given)]
	}
	sum := sha256.Sum256(fmt.Append(nil, w.seed, " key ", n))
	id, err := client.NewIdentity(hex.EncodeToString(sum[:]))
	if err != nil {
		panic(err) // once in 2^127
	}
	return id
}

// Sign makes an event.
func (w *World) Sign(k client.Identity, kind int, at int64, content string, tags ...nostr.Tag) *nostr.Event {
	ev := &nostr.Event{Kind: kind, CreatedAt: nostr.Timestamp(at), Content: content, Tags: tags}
	if err := k.Sign(ev); err != nil {
		panic(err) // every key here has a secret
	}
	w.keys.Store(ev.PubKey, k)
	return ev
}

// Text is one that no other event has.
func (w *World) Text() string { return fmt.Sprintf("engramd cluster verify: text %d", w.nonce.Add(1)) }

// topic is the one that notes have which are written now: another one each second.
func (w *World) topic() int { return 1 + int(time.Since(w.began)/time.Second) }

func (w *World) topicName(n int) string { return fmt.Sprintf("verify-%.16s-%d", w.seed, n) }

// NoteOf is a note of a key.
func (w *World) NoteOf(k client.Identity, tags ...nostr.Tag) *nostr.Event {
	return w.Sign(k, nostr.KindTextNote, time.Now().Unix(), w.Text(), tags...)
}

// Note publishes a note that nobody removes.
func (w *World) Note(c Conn) *Write {
	topic := w.topic()
	return w.publish(c, w.NoteOf(w.Key(10+c.Node), nostr.Tag{"t", w.topicName(topic)}), topic)
}

// Shows asks a node for an event that is there, or was removed, as another node
// has acknowledged before. No answer, and CLOSED, break no promise.
func (w *World) Shows(c Conn, wrote *Write, there bool) {
	began := time.Now()
	found, err := c.Query(nostr.Filter{IDs: []string{wrote.Event.ID}})
	switch {
	case err != nil:
		w.Count("reads that failed")
	case found[wrote.Event.ID] != there:
		w.Broken("read your own write: node %d shows %d of %.8s, which was acknowledged %v before", c.Node, len(found), wrote.Event.ID, began.Sub(wrote.End))
	default:
		w.Count("reads")
	}
}
