package store_test

import (
	"testing"

	"engramd/internal/store"
	"engramd/internal/store/storetest"
)

func TestPutStoresOnce(t *testing.T) {
	s := storetest.MustOpen(t)
	ev := storetest.NewKey("a").Note(0, "hello")
	if r := s.Put(t.Context(), ev, store.PutOptions{}); r.Outcome != store.Stored || r.Seq != s.LastSeq() {
		t.Fatalf("first: %+v, last seq %d", r, s.LastSeq())
	}
	if r := s.Put(t.Context(), ev, store.PutOptions{}); r.Outcome != store.Duplicate || r.Message != store.MsgDuplicate {
		t.Fatalf("second: %+v", r)
	}
}
