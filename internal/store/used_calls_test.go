package store_test

import (
	"slices"
	"strings"
	"testing"

	"engramd/internal/store"
	"engramd/internal/store/storetest"
)

func TestUsedCallsSurviveARestart(t *testing.T) {
	o := storetest.Options(t)
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	call := func(digit string, at int64) store.UsedCall {
		return store.UsedCall{ID: strings.Repeat(digit, 64), Key: alice.Pub, At: at}
	}
	if err := s.UseCalls(t.Context(), []store.UsedCall{call("a", 100), call("b", 101)}, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.UseCalls(t.Context(), []store.UsedCall{call("c", 102), call("b", 102)}, 101); err != nil {
		t.Fatal(err)
	}
	if err := s.UseCalls(t.Context(), []store.UsedCall{{ID: "x", Key: alice.Pub}}, 0); err == nil {
		t.Error("an id that is none was noted")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []store.UsedCall
	if err := s.UsedCalls(t.Context(), 0, func(c store.UsedCall) { got = append(got, c) }); err != nil {
		t.Fatal(err)
	}
	if want := []store.UsedCall{call("b", 101), call("c", 102)}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
