package state

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"engramd/internal/protocol/writerlog"
)

// TestTook: relays that took something are kept, as many as there is room for; what
// took something without being kept is no other relay, and the event is stored all
// the same.
func TestTook(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	id := func(i int) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i))) }
	must(t, s.Links.Take(t.Context(), MaxTakers+3, func(i int, _ writerlog.Link) (Sealed, error) {
		return Sealed{ID: id(i), D: []string{id(0), "no address", ""}[i%3], At: int64(i), Event: []byte("{}")}, nil
	}))
	relay := func(i int) string { return fmt.Sprintf("wss://%d", i) }
	for i := range MaxTakers + 2 {
		must(t, s.Links.Took(t.Context(), map[string][]string{id(i): {relay(0), relay(i)}}))
	}
	if err := s.Links.Took(t.Context(), map[string][]string{id(0): {strings.Repeat("x", maxName+1)}}); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	must(t, s.Links.Took(t.Context(), map[string][]string{"no id": {relay(1)}}))
	logs, err := s.Links.Own(t.Context())
	own := logs["61626364"]
	if err != nil || len(own) != MaxTakers+3 {
		t.Fatal(len(own), err)
	}
	for i, o := range own {
		want := []string{relay(0), relay(i)}
		switch {
		case i == MaxTakers+2: // not sent
			want = nil
		case i == 0, i >= MaxTakers:
			want = want[:1]
		}
		if o.D != map[bool]string{true: id(0)}[i%3 == 0] {
			t.Errorf("number %d is at %q", i, o.D)
		}
		if !slices.Equal(o.Took, want) || o.Stored != (want != nil) {
			t.Errorf("number %d: %v, stored %v", i, o.Took, o.Stored)
		}
	}
}
