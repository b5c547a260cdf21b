// Package verify is a workload for nodes that hold the same memory, a record of
// what each client did and when, and a judge of the record. It knows what clients
// can see, and nothing of a node's inside. engramd cluster verify runs it, and the
// tests of internal/e2e/cluster do.
package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Outcome is what a client knows of a write.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // no answer, or error:
	Stored
	Refused
)

// Write is one event that a client sent.
type Write struct {
	Event      *nostr.Event
	Node       int
	Start, End time.Time
	Outcome    Outcome
	Message    string

	topic int // of a note that nobody removes, from 1 on
	// mayGo says that somebody may have removed it, who was not refused, and gone that he
	// was acknowledged.
	mayGo, gone bool
}

// record is what all clients did. Its methods may be called by several goroutines.
type record struct {
	mu     sync.Mutex
	writes []*Write
	broken map[string]bool // what was seen to be wrong
	counts map[string]int
}

// most bounds what relays may have us keep of their words.
const most = 1000

// Broken notes a promise that was broken.
func (r *record) Broken(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.broken) < most {
		r.broken[fmt.Sprintf(format, args...)] = true
	}
}

// Violations returns them, each once.
func (r *record) Violations() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.broken))
}

// Count notes that something happened.
func (r *record) Count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.counts) < most {
		r.counts[what]++
	}
}

// Counted is how often it happened.
func (r *record) Counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

// AcknowledgedAt is how the acknowledgements of a node are counted.
func AcknowledgedAt(node int) string { return fmt.Sprintf("acknowledged at node %d", node) }

func (r *record) note(w *Write) {
	r.mu.Lock()
	r.writes = append(r.writes, w)
	r.mu.Unlock()
	switch w.Outcome {
	case Stored:
		r.Count(AcknowledgedAt(w.Node))
	case Refused:
		r.Count("refused")
	default:
		r.Count("without an answer: " + w.Message[:min(len(w.Message), 40)])
	}
}

// Remove notes what became of an attempt to remove events.
func (r *record) Remove(by *Write, what ...*Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range what {
		w.mayGo, w.gone = w.mayGo || by.Outcome != Refused, w.gone || by.Outcome == Stored
	}
}

// before returns the notes of a range of topics whose OK had come by a time.
func (r *record) before(at time.Time, from, to int) (ids []string) {
	for _, w := range r.All() {
		if w.Outcome == Stored && from <= w.topic && w.topic < to && w.End.Before(at) {
			ids = append(ids, w.Event.ID)
		}
	}
	return ids
}

// All returns the writes so far.
func (r *record) All() []*Write {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.writes)
}

// Summary says how much happened.
func (r *record) Summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, r.counts[what]))
	}
	return strings.Join(parts, ", ")
}
