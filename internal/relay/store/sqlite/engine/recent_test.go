package engine_test

import (
	"context"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestRecent: the commits of a store are noted, and its space adds up also when
// every reader is taken.
func TestRecent(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxBytes = 64 << 20 })
	for i := range int64(20) {
		put(t, s, alice.Note(i, "hello"), store.Stored)
	}
	if got := s.Recent(10); got.Commits != 20 || got.P50 <= 0 || got.P50 > got.P99 || got.P99 > got.Max {
		t.Errorf("%+v", got)
	}
	space, err := s.Space(context.Background())
	if err != nil || space.Database <= 0 || space.Free < 0 || space.Free > space.Database || space.Max != 64<<20 {
		t.Errorf("%+v, %v", space, err)
	}
}
