package state

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"engramd/internal/protocol/writerlog"
)

// TestAccounted: how far logs are accounted for only grows, of as many logs as there is
// room for; and links have their addresses for log units.
func TestAccounted(t *testing.T) {
	r := newRig(t)
	if testPair.Kept(r.dir) {
		t.Error("there is a state before one is opened")
	}
	s := r.open(testPair)
	if !testPair.Kept(r.dir) {
		t.Error("there is none behind it")
	}
	must(t, s.Links.SetAccounted(t.Context(), map[string]int64{"61626364": 2, "99999999": 7}))
	must(t, s.Links.SetAccounted(t.Context(), map[string]int64{"61626364": 1, "99999999": 8}))
	if got, err := s.Links.Accounted(t.Context()); err != nil || !maps.Equal(got, map[string]int64{"61626364": 2, "99999999": 8}) {
		t.Errorf("%v %v", got, err)
	}
	many := map[string]int64{}
	for i := range maxLogs + 10 {
		many[fmt.Sprintf("%08x", i)] = 1
	}
	must(t, s.Links.SetAccounted(t.Context(), many))
	if got, err := s.Links.Accounted(t.Context()); err != nil || len(got) != maxLogs {
		t.Errorf("%d logs are kept: %v", len(got), err)
	}

	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	for i, d := range []string{hexOf(0xa), hexOf(0xb), ""} {
		take(t, s, hexOf(i+1), d, int64(10+i), false)
	}
	ds, err := s.Links.Addresses(t.Context(), "61626364", 1, 5)
	if err != nil || len(ds) != 2 || fmt.Sprintf("%x", ds[0][:]) != hexOf(0xb) || ds[1] != (writerlog.Hash{}) {
		t.Errorf("%x %v", ds, err)
	}
}
