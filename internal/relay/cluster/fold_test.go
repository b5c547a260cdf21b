package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"engramd/internal/relay/store"
)

// The state that is stored with a transaction covers every message before it,
// also those that do nothing, and none that was read since.
func TestStateIsOfTheLastCommand(t *testing.T) {
	var placed []store.Placed
	n, err := New(Options{Log: &recorder{}, ClusterID: ClusterID{1}, NodeID: node("a"), Boot: 1, Version: 1, Executor: executor(func(list []store.Placed) { placed = append(placed, list...) })})
	if err != nil {
		t.Fatal(err)
	}
	other := message{cluster: ClusterID{1}, node: node("b"), boot: 1}
	number := uint64(0)
	next := func(second int64, counter uint64, items ...item) {
		number++
		m := other
		m.counter, m.items = counter, items
		if err := n.message(t.Context(), Message{Number: number, At: time.Unix(second, 0), Data: mustEncode(t, m)}); err != nil {
			t.Fatal(err)
		}
	}
	next(5, 0)
	next(10, 1, item{own: Join{Name: "b"}}, item{store: say("x")})
	next(20, 0)
	next(30, 0)
	next(7, 5, item{store: say("void")})
	next(25, 2, item{store: say("y")}, item{own: Lease{Epoch: 1}}, item{store: say("z")})
	next(40, 3, item{own: Heartbeat{Durable: 1}})
	next(50, 0)
	var places []store.LogPlace
	var done []store.Done
	for _, p := range placed {
		places = append(places, p.Place)
		done = append(done, store.Done{Place: p.Place})
	}
	if want := []store.LogPlace{{Number: 2, Index: 0}, {Number: 2, Index: 1}, {Number: 6, Index: 0}, {Number: 6, Index: 1}, {Number: 6, Index: 2}, {Number: 7, Index: 0}}; !slices.Equal(places, want) {
		t.Fatalf("placed %v", places)
	}
	if placed[0].Command != nil || placed[1].At != 10 || placed[2].At != 30 || placed[5].At != 40 {
		t.Errorf("%+v", placed)
	}
	of := func(s *state) (durable uint64) {
		for _, m := range s.members {
			durable += m.durable
		}
		return durable
	}
	look := func(upTo int, second int64, number uint64, left int, epoch uint64, durable uint64, count uint64, applied uint64) {
		t.Helper()
		s, err := unmarshalState(n.State(done[:upTo]))
		if err != nil {
			t.Fatal(err)
		}
		if s.time != second*int64(time.Second) || s.number != number || s.left != left || s.lease.epoch != epoch || of(s) != durable || s.chain.count != count {
			t.Errorf("up to %d: %+v", upTo, s)
		}
		if got, _ := n.Applied(); got != applied {
			t.Errorf("up to %d: applied %d, want %d", upTo, got, applied)
		}
	}
	look(1, 10, 2, 1, 0, 0, 0, 1)
	look(6, 40, 7, 0, 1, 1, 3, 1) // and that transaction failed
	look(3, 30, 6, 2, 0, 0, 2, 1)
	n.Durable()
	done = done[3:]
	look(1, 30, 6, 1, 1, 0, 2, 5)
	n.Durable()
	done = done[1:]
	look(2, 40, 7, 0, 1, 1, 3, 5)
	n.Durable()
	if got, _ := n.Applied(); got != 8 {
		t.Errorf("applied %d of 8", got)
	}
	if n.State([]store.Done{{Place: store.LogPlace{Number: 9}}}) != nil || !errors.Is(n.Err(), errOrder) {
		t.Errorf("what never came was executed, and: %v", n.Err())
	}
}

// Commands that wait in the store's queue are not committed once a fault has
// ended the node. An ordinary end loses none of them.
func TestNothingIsCommittedAfterAFault(t *testing.T) {
	for why, committed := range map[error]bool{ErrDiffers: false, context.Canceled: true} {
		var placed []store.Placed
		n, err := New(Options{Log: &recorder{}, ClusterID: ClusterID{1}, NodeID: node("a"), Boot: 1, Version: 1, Executor: executor(func(list []store.Placed) { placed = append(placed, list...) })})
		if err != nil {
			t.Fatal(err)
		}
		m := message{cluster: ClusterID{1}, node: node("b"), boot: 1, counter: 1, items: []item{{own: Join{Name: "b"}}, {store: say("x")}}}
		if err := n.message(t.Context(), Message{Number: 1, At: time.Unix(1, 0), Data: mustEncode(t, m)}); err != nil {
			t.Fatal(err)
		}
		n.Halt(why)
		if got := n.State([]store.Done{{Place: placed[0].Place}}); (got != nil) != committed {
			t.Errorf("ended by %v: a state of %d bytes", why, len(got))
		}
	}
}

// executor is a store that only passes on what it was given.
type executor func([]store.Placed)

func (e executor) Execute(_ context.Context, list []store.Placed) error {
	e(list)
	return nil
}
