package state

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTallies(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Tallies.Add(t.Context(), Offered, "mem/a", "mem/b"))
	must(t, s.Tallies.Add(t.Context(), Dreamt, "mem/a"))
	r.now = r.now.Add(time.Minute)
	must(t, s.Tallies.Add(t.Context(), Offered, "mem/a"))
	must(t, s.Tallies.Add(t.Context(), Offered))
	want := map[string]Tallied{"mem/a": {2, r.now}, "mem/b": {1, testTime}}
	if all, err := s.Tallies.Of(t.Context(), Offered); !reflect.DeepEqual(all, want) || err != nil {
		t.Fatalf("%v, %v", all, err)
	}
	must(t, s.Tallies.Forget(t.Context(), Offered, "mem/a", "mem/never"))
	delete(want, "mem/a")
	if all, err := s.Tallies.Of(t.Context(), Offered); !reflect.DeepEqual(all, want) || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := s.Tallies.Of(t.Context(), Dreamt); all["mem/a"].N != 1 || err != nil {
		t.Errorf("another kind was forgotten: %v, %v", all, err)
	}
	for _, slug := range []string{"", strings.Repeat("a", maxName+1)} {
		if err := s.Tallies.Add(t.Context(), Offered, slug); !errors.Is(err, ErrTooLarge) {
			t.Errorf("a slug of %d bytes: %v", len(slug), err)
		}
	}
	if err := s.Tallies.Forget(t.Context(), Offered, make([]string, maxAtOnce+1)...); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many at once: %v", err)
	}
}

// TestTalliesAreBounded: the oldest go, and those of another kind stay.
func TestTalliesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Tallies.Add(t.Context(), Dreamt, "mem/0"))
	for from := 0; from <= MaxTallies; from += 4000 {
		slugs := make([]string, 4000)
		for i := range slugs {
			slugs[i] = fmt.Sprintf("mem/%d", from+i)
		}
		must(t, s.Tallies.Add(t.Context(), Offered, slugs...))
		r.now = r.now.Add(time.Second)
	}
	all, err := s.Tallies.Of(t.Context(), Offered)
	must(t, err)
	if _, first := all["mem/0"]; first || len(all) != MaxTallies {
		t.Errorf("%d tallies, the first among them: %v", len(all), first)
	}
	if all, err := s.Tallies.Of(t.Context(), Dreamt); len(all) != 1 || err != nil {
		t.Errorf("another kind: %v, %v", all, err)
	}
}
