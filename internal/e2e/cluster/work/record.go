// Package work is a workload for nodes that hold the same memory, a record of
// what each client did and when, and a judge of the record.
package work

import (
	"fmt"
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
	// Gone says that somebody may have removed it, who was not refused: it must be
	// there no longer if he was acknowledged, else it may be either.
	Gone Fate
}

// Fate is what others did to an event.
type Fate int

// The fates.
const (
	Stays Fate = iota
	MayBeGone
	MustBeGone
)

// Record is what all clients did. Its methods may be called by several
// goroutines.
type Record struct {
	mu       sync.Mutex
	writes   []*Write
	topics   map[string][]*Write // acknowledged notes by their tag t
	broken   []string            // what was seen to be wrong
	counts   map[string]int
	failures map[string]int // unknown outcomes, by what was said
}

// NewRecord makes an empty one.
func NewRecord() *Record {
	return &Record{topics: map[string][]*Write{}, counts: map[string]int{}, failures: map[string]int{}}
}

// Broken notes a promise that was broken.
func (r *Record) Broken(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

// Violations returns them, without those that are the same.
func (r *Record) Violations() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.broken)
	slices.Sort(all)
	return slices.Compact(all)
}

// Count notes that something happened.
func (r *Record) Count(what string) {
	r.mu.Lock()
	r.counts[what]++
	r.mu.Unlock()
}

// AcknowledgedAt is how the acknowledgements of a node are counted.
func AcknowledgedAt(node int) string { return fmt.Sprintf("acknowledged at %d", node) }

// Counted is how often it happened.
func (r *Record) Counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

// Publish sends an event to a node and records what came of it.
func (r *Record) Publish(c *Conn, ev *nostr.Event) *Write {
	w := &Write{Event: ev, Node: c.Node, Start: time.Now()}
	ok, err := c.publish(ev)
	w.End, w.Message = time.Now(), ok.Message
	switch {
	case err != nil:
		w.Message = err.Error()
	case ok.True:
		w.Outcome = Stored
	case !strings.HasPrefix(ok.Message, "error:") && !strings.HasPrefix(ok.Message, "rate-limited:"):
		w.Outcome = Refused
	}
	r.note(w)
	return w
}

func (r *Record) note(w *Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, w)
	switch w.Outcome {
	case Stored:
		r.counts["acknowledged"]++
		r.counts[AcknowledgedAt(w.Node)]++
		for _, t := range w.Event.Tags {
			if t[0] == "t" {
				r.topics[t[1]] = append(r.topics[t[1]], w)
			}
		}
	case Refused:
		r.counts["refused"]++
	default:
		r.counts["unknown"]++
		r.failures[w.Message[:min(len(w.Message), 40)]]++
	}
}

// remove notes what became of an attempt to remove events.
func (r *Record) remove(by *Write, what ...*Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range what {
		switch by.Outcome {
		case Stored:
			w.Gone = MustBeGone
		case Unknown:
			w.Gone = max(w.Gone, MayBeGone)
		}
	}
}

// before returns the acknowledged notes of topics whose OK had come by a time.
func (r *Record) before(at time.Time, topics []string) (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range topics {
		for _, w := range r.topics[t] {
			if w.End.Before(at) {
				ids = append(ids, w.Event.ID)
			}
		}
	}
	return ids
}

// Summary says how much happened.
func (r *Record) Summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	for what, n := range r.counts {
		parts = append(parts, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ") + fmt.Sprintf("; unknown: %v", r.failures)
}
