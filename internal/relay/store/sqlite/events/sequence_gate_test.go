package events_test

import (
	"errors"
	"testing"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// A store that is one of several does not class its events by itself, and is not
// joined by other rules than theirs. Once it has left it is classed anew.
func TestOtherRulesThanTheOthers(t *testing.T) {
	o := &several{clock: storetest.NewClock().Now}
	options := storetest.Options(t)
	o.open(t, options)
	if r := o.s.Put(t.Context(), alice.Fake(1234, 1, "x"), store.PutOptions{}); r.Outcome != store.Stored {
		t.Fatal(r.Err)
	}
	o.s.Close()
	table, err := gate.NewTable(gate.Options{Rules: []string{"1234 author"}})
	if err != nil {
		t.Fatal(err)
	}
	options.Table, options.Sequenced = table, true
	s, err := sqlite.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SequenceState(t.Context()); !errors.Is(err, store.ErrOtherGate) {
		t.Errorf("%v", err)
	}
	s.Close()
	o.open(t, storetest.Options(t, func(so *sqlite.Options) { so.Path = options.Path })) // nothing was changed
	if err := o.s.LeaveSequence(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.s.Close()
	options.Sequenced = false
	if s, err = sqlite.Open(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantWhole(t, s)
}
