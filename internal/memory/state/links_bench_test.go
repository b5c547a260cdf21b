package state

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/protocol/writerlog"
)

// BenchmarkTakeLink is what a write spends on its place in a log of 10,000: the
// root, the link, and keeping the event (p99 at most 1 ms for the root), as two
// numbers in one step and as what the second adds.
func BenchmarkTakeLink(b *testing.B) {
	r := newRig(b)
	s := r.open(testPair)
	if err := s.Links.Begin(b.Context(), "", nil, strings.NewReader("abcd")); err != nil {
		b.Fatal(err)
	}
	var at int64
	event := []byte(strings.Repeat("x", 1500))
	seal := func(_ int, l writerlog.Link) (Sealed, error) {
		at++
		id := writerlog.Leaf(writerlog.Hash{byte(l.N), byte(l.N >> 8), byte(l.N >> 16)})
		return Sealed{ID: hex.EncodeToString(id[:]), D: strings.Repeat("0a", 32), At: at, Event: event}, nil
	}
	for range 100 {
		var ids []string
		if err := s.Links.Take(b.Context(), 100, func(i int, l writerlog.Link) (Sealed, error) {
			e, err := seal(i, l)
			ids = append(ids, e.ID)
			return e, err
		}); err != nil {
			b.Fatal(err)
		}
		relayTook(b, s, ids...)
	}
	var took, root []time.Duration
	for b.Loop() {
		var ids []string
		start := time.Now()
		last := start
		// Of two numbers in one step the second is what a root and a link cost beside
		// the transaction, which waits for the disk.
		if err := s.Links.Take(b.Context(), 2, func(i int, l writerlog.Link) (Sealed, error) {
			if i == 1 {
				root = append(root, time.Since(last))
			}
			e, err := seal(i, l)
			ids, last = append(ids, e.ID), time.Now()
			return e, err
		}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
		relayTook(b, s, ids...)
	}
	for name, all := range map[string][]time.Duration{"root": root, "write": took} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs-"+name+"-p50")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "µs-"+name+"-p99")
	}
}
