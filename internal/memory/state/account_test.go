package state

import (
	"fmt"
	"strings"
	"testing"

	"engramd/internal/protocol/writerlog"
)

// TestAccounting: what accounts for the writer's own numbers are its links, those that
// were accounted for are known by their number alone, and a core is always told of.
func TestAccounting(t *testing.T) {
	r := newRig(t)
	if testPair.Kept(r.dir) {
		t.Error("there is a state before one is opened")
	}
	s := r.open(testPair)
	if !testPair.Kept(r.dir) {
		t.Error("there is none behind it")
	}
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	const w = "61626364"
	core, away := hexOf(0xc), hexOf(0xa)
	for i, d := range []string{away, core, "", away} {
		take(t, s, hexOf(i+1), d, int64(10+i), false)
	}
	must(t, s.Links.Settle(t.Context(), Stored, hexOf(1), hexOf(2), hexOf(3)))
	must(t, s.Links.Settle(t.Context(), Void, hexOf(4)))
	must(t, s.Heads.Drop(t.Context(), hexOf(2))) // the copy has it
	must(t, s.Audit.SetMarks(t.Context(), "wss://a", []writerlog.Mark{{W: w, N: 3, ID: hexOf(4), D: away, At: 13}}))
	in, gone, err := s.Links.Accounting(t.Context(), core)
	must(t, err)
	if gone || in.Core || in.D != core || len(in.Own[w]) != 4 || in.Attested[w] != 4 || len(in.Marks) != 1 || len(in.Known) != 0 {
		t.Errorf("%v %+v", gone, in)
	}
	if one, two := in.Own[w][1], in.Own[w][3]; one.ID != hexOf(2) || one.D != core || one.At != 11 || !one.Stored || !two.Void || in.Own[w][2].D != "" {
		t.Errorf("%+v", in.Own)
	}
	ds, err := s.Links.Addresses(t.Context(), w, 1, 2)
	if err != nil || len(ds) != 2 || fmt.Sprintf("%x", ds[0][:]) != core || ds[1] != (writerlog.Hash{}) {
		t.Errorf("%x %v", ds, err)
	}

	must(t, s.Links.SetAccounted(t.Context(), map[string]int64{w: 2, "99999999": 7, "no log": 1}))
	must(t, s.Links.SetAccounted(t.Context(), map[string]int64{w: 1}))
	in, _, err = s.Links.Accounting(t.Context(), core)
	must(t, err)
	if _, there := in.Own[w][1]; len(in.Own[w]) != 2 || !there || in.Known[w] != 2 || in.Known["99999999"] != 7 || len(in.Known) != 2 {
		t.Errorf("%+v", in)
	}

	for _, c := range []struct {
		loss Loss
		gone bool
	}{{Loss{At: 10, Why: Accepted}, false}, {Loss{Relay: "wss://a", At: 11, Why: Removed}, false}, {Loss{At: 11, Why: Accepted}, true}} {
		must(t, s.Heads.Lose(t.Context(), core, c.loss))
		if _, gone, err := s.Links.Accounting(t.Context(), core); gone != c.gone || err != nil {
			t.Errorf("%+v: %v %v", c.loss, gone, err)
		}
	}
	// A newer one of another machine, which the copy has shown.
	must(t, s.Heads.Keep(t.Context(), Head{D: core, ID: hexOf(9), At: 12, Event: []byte("{}")}))
	if in, gone, err := s.Links.Accounting(t.Context(), core); gone || !in.Core || err != nil {
		t.Errorf("kept: %v %+v %v", gone, in, err)
	}
	many := map[string]int64{}
	for i := range maxLogs + 10 {
		many[fmt.Sprintf("%08x", i)] = 1
	}
	must(t, s.Links.SetAccounted(t.Context(), many))
	if in, _, err = s.Links.Accounting(t.Context(), core); len(in.Known) != maxLogs || err != nil {
		t.Errorf("%d logs are kept: %v", len(in.Known), err)
	}
}
