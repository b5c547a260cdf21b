package engine

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/relay/store"
)

// Bounds of what is remembered of the last while, for the operator.
const (
	recentCommits = 1024
	recentReads   = 64
	recentFor     = 10 * time.Minute
	// SlowFrom is how long a read takes at least: what is faster is never slow.
	SlowFrom = time.Millisecond
)

// recent remembers it. Reads that are not slow cost it two loads.
type recent struct {
	least  atomic.Int64 // ns below which a read is not among the slowest
	oldest atomic.Int64 // when the oldest of them was, Unix ns

	mu      sync.Mutex
	commits [recentCommits]time.Duration
	n       int // ever
	reads   []store.SlowRead
}

func (r *recent) commit(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits[r.n%recentCommits] = took
	r.n++
}

// Read notes one call if it is among the slowest.
func (r *recent) read(s store.SlowRead) {
	if s.Took < SlowFrom || int64(s.Took) <= r.least.Load() && s.At.UnixNano()-r.oldest.Load() < int64(recentFor) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = slices.DeleteFunc(r.reads, func(old store.SlowRead) bool { return s.At.Sub(old.At) >= recentFor })
	if r.reads = append(r.reads, s); len(r.reads) > recentReads {
		slices.SortFunc(r.reads, slowestFirst)
		r.reads = r.reads[:recentReads]
	}
	oldest, least := s.At, time.Duration(0)
	for i, old := range r.reads {
		if old.At.Before(oldest) {
			oldest = old.At
		}
		if len(r.reads) == recentReads && (i == 0 || old.Took < least) {
			least = old.Took
		}
	}
	r.oldest.Store(oldest.UnixNano())
	r.least.Store(int64(least))
}

func slowestFirst(a, b store.SlowRead) int { return cmp.Compare(b.Took, a.Took) }

// told returns how fast commits were, and the slowest top reads.
func (r *recent) told(top int) store.Recent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out store.Recent
	for _, read := range r.reads {
		if time.Since(read.At) < recentFor {
			out.Reads = append(out.Reads, read)
		}
	}
	slices.SortFunc(out.Reads, slowestFirst)
	out.Reads = out.Reads[:min(top, len(out.Reads))]
	if out.Commits = min(r.n, recentCommits); out.Commits > 0 {
		sorted := slices.Clone(r.commits[:out.Commits])
		slices.Sort(sorted)
		out.P50, out.P99, out.Max = sorted[len(sorted)/2], sorted[len(sorted)*99/100], sorted[len(sorted)-1]
	}
	return out
}
