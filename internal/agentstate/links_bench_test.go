package agentstate

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/chain"
)

// BenchmarkTakeLink is what a write spends on its place in a log of 10,000: the
// root, the link, and keeping the event (96: p99 at most 1 ms for the root).
func BenchmarkTakeLink(b *testing.B) {
	r := newRig(b)
	s := r.open(testPair)
	if err := s.BeginLog(b.Context(), "", nil, strings.NewReader("abcd")); err != nil {
		b.Fatal(err)
	}
	var at int64
	event := []byte(strings.Repeat("x", 1500))
	seal := func(_ int, l chain.Link) (string, int64, []byte, error) {
		at++
		id := chain.Leaf(chain.Hash{byte(l.N), byte(l.N >> 8), byte(l.N >> 16)})
		return hex.EncodeToString(id[:]), at, event, nil
	}
	for range 10 {
		var ids []string
		if err := s.TakeLinks(b.Context(), 1000, func(i int, l chain.Link) (string, int64, []byte, error) {
			id, at, event, err := seal(i, l)
			ids = append(ids, id)
			return id, at, event, err
		}); err != nil {
			b.Fatal(err)
		}
		if err := s.Settle(b.Context(), Stored, ids...); err != nil {
			b.Fatal(err)
		}
	}
	var took []time.Duration
	for b.Loop() {
		var id string
		start := time.Now()
		if err := s.TakeLinks(b.Context(), 1, func(i int, l chain.Link) (string, int64, []byte, error) {
			var event []byte
			var err error
			id, at, event, err = seal(i, l)
			return id, at, event, err
		}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
		if err := s.Settle(b.Context(), Stored, id); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}
