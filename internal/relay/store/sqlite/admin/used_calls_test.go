package admin_test

import (
	"slices"
	"strings"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestUsedCallsSurviveARestart(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	call := func(digit string, at int64) store.UsedCall {
		return store.UsedCall{ID: strings.Repeat(digit, 64), Key: alice.Pub, At: at}
	}
	use := func(before int64, want []bool, calls ...store.UsedCall) {
		t.Helper()
		if had, err := s.UseCalls(t.Context(), calls, before); err != nil || !slices.Equal(had, want) {
			t.Fatalf("had %v, want %v (%v)", had, want, err)
		}
	}
	use(0, []bool{false, false}, call("a", 100), call("b", 101))
	use(101, []bool{false, true, true}, call("c", 102), call("b", 102), call("c", 102))
	if _, err := s.UseCalls(t.Context(), []store.UsedCall{{ID: "x", Key: alice.Pub}}, 0); err == nil {
		t.Error("an id that is none was noted")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), o); err != nil {
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
