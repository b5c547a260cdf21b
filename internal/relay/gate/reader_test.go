package gate_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"engramd/internal/relay/gate"
)

func TestReader(t *testing.T) {
	var nobody gate.Reader
	if !nobody.Empty() || nobody.Has(agent) || nobody.Has("") || len(nobody.Keys()) != 0 {
		t.Error("the zero reader is somebody")
	}
	one := nobody.With(owner)
	two := one.With(agent)
	if !reflect.DeepEqual(two.Keys(), []string{agent, owner}) || !reflect.DeepEqual(one.Keys(), []string{owner}) {
		t.Errorf("With: %v, then %v", one.Keys(), two.Keys())
	}
	if again := two.With(agent); !reflect.DeepEqual(again.Keys(), two.Keys()) {
		t.Errorf("the same key counts twice: %v", again.Keys())
	}
	if !reflect.DeepEqual(gate.NewReader(owner, agent, owner).Keys(), two.Keys()) {
		t.Error("NewReader differs from With")
	}
	two.Keys()[0] = stranger
	if two.Has(stranger) || !two.Has(agent) {
		t.Error("Keys gives the reader's own list away")
	}
}

// TestReaderTakesOnlyPubkeys: a tag or a filter can hold any string, and only a
// public key may count as a reader.
func TestReaderTakesOnlyPubkeys(t *testing.T) {
	for _, bad := range []string{"", "a", strings.ToUpper(agent), agent[:63], agent + "a", strings.Repeat("g", 64), strings.Repeat("é", 32)} {
		if r := gate.NewReader(bad); !r.Empty() {
			t.Errorf("NewReader took %q", bad)
		}
		if r := gate.NewReader(agent).With(bad); len(r.Keys()) != 1 {
			t.Errorf("With took %q", bad)
		}
	}
}

// TestReaderOfMany goes over the size where lookup changes.
func TestReaderOfMany(t *testing.T) {
	var r gate.Reader
	for n := range 40 {
		key := fmt.Sprintf("%064x", n*7919%101)
		if r.Has(key) {
			t.Fatalf("has %s before it was added", key)
		}
		r = r.With(key)
		if len(r.Keys()) != n+1 || !r.Has(key) {
			t.Fatalf("%d keys after %d", len(r.Keys()), n+1)
		}
	}
	if r.Has(fmt.Sprintf("%064x", 200)) {
		t.Error("has a key that was never added")
	}
	if !reflect.DeepEqual(gate.NewReader(r.Keys()...), r) {
		t.Error("NewReader differs from With")
	}
}
