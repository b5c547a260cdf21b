package events_test

import (
	"strings"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// An event that is refused when it had been stored already, for a quota, gives
// its number back: the next one has it, as if nothing had been.
func TestNoNumberIsBurnt(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota = store.Quota{Bytes: 2000} })
	put(t, s, alice.Fake(0, 1, "small"), store.Stored)
	for i := range int64(3) {
		put(t, s, alice.Fake(0, 2+i, strings.Repeat("large ", 500)), store.Refused)
	}
	if r := s.Put(t.Context(), bob.Fake(1, 1, "next"), store.PutOptions{}); r.Seq != 2 {
		t.Errorf("the next event has number %d, want 2", r.Seq)
	}
}
