package engine

import (
	"testing"
	"time"

	"engramd/internal/relay/store"
)

// TestRecent_Slowest: of very many reads the slowest of the last ten minutes
// are remembered, and no more.
func TestRecent_Slowest(t *testing.T) {
	var s DB
	now := time.Now()
	at := func(ago, took time.Duration) store.SlowRead {
		return store.SlowRead{At: now.Add(-ago), Operation: "query", Plan: "tag #t", Took: took}
	}
	for range 2 * recentReads {
		s.recent.read(at(9*time.Minute+59*time.Second, time.Hour)) // soon too old
	}
	for i := range 1000 {
		s.recent.read(at(time.Minute, time.Duration(i)*time.Millisecond/4))
	}
	if n := len(s.recent.reads); n != recentReads {
		t.Errorf("%d reads are kept, want %d", n, recentReads)
	}
	now = now.Add(2 * time.Second) // the first ones are
	for i := range 1000 {
		s.recent.read(at(0, time.Duration(i+1)*time.Millisecond))
		s.recent.read(at(0, SlowFrom-1))
	}
	got := s.Recent(10).Reads
	if len(got) != 10 {
		t.Fatalf("%d reads", len(got))
	}
	for i, read := range got {
		if want := time.Duration(1000-i) * time.Millisecond; read.Took != want {
			t.Errorf("place %d took %v, want %v", i, read.Took, want)
		}
	}
}

func TestRecent_Commits(t *testing.T) {
	var s DB
	if got := s.Recent(1); got.Commits != 0 || got.P99 != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	for i := range 3 * recentCommits {
		s.recent.commit(time.Duration(i%100+1) * time.Millisecond)
	}
	got := s.Recent(1)
	if got.Commits != recentCommits || got.Max != 100*time.Millisecond || got.P50 < 45*time.Millisecond || got.P50 > 55*time.Millisecond || got.P99 < 98*time.Millisecond {
		t.Errorf("%+v", got)
	}
}
