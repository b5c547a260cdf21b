package query

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// TestPlan_String: what is told of a plan has nothing of the filter's values.
func TestPlan_String(t *testing.T) {
	for want, f := range map[string]nostr.Filter{
		"tag #t": {Tags: nostr.TagMap{"t": {"secret"}}}, "kind": {Kinds: []int{1}}, "time": {},
	} {
		w, err := Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := choose(w).String(); got != want {
			t.Errorf("plan %q, want %q", got, want)
		}
	}
	if got := (plan{}).String(); got != "" {
		t.Errorf("no plan is %q", got)
	}
}
