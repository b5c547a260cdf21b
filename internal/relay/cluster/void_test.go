package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"engramd/internal/relay/store"
)

// A command that no node can execute stops all, until an operator has it
// skipped. Everything else is executed.
func TestVoid(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b", "c")
		broken := errors.New("cannot be executed")
		for i, h := range list {
			mustPut(t, h.up(), fmt.Sprint("before ", i))
			h.kill()
			if i < 2 {
				h.fail = func(p store.Placed) error {
					if text(p.Command) == "bad" {
						return broken
					}
					return nil
				}
			}
		}
		var bad store.LogPlace
		nodes := []*Node{begin(t, list[0]), begin(t, list[1])}
		log.Stop(true)
		for _, text := range []string{"good", "bad", "better"} {
			if err := nodes[0].Append(t.Context(), say(text), newTicket(nil)); err != nil {
				t.Fatal(err)
			}
		}
		log.Stop(false)
		for i, n := range nodes {
			ended(t, n, broken)
			list[i].kill()
			place, err := Inspect(list[i].disk.state)
			if err != nil || place.Whole {
				t.Errorf("%+v, %v", place, err)
			}
			bad = store.LogPlace{Number: place.At.Number, Index: place.At.Index + 1}
		}
		begin(t, list[2]) // can execute it
		await(t, "c has it", func() bool { return slices.Contains(list[2].texts(), "better") })
		list[0].disk.boot++
		raw, err := Batch(list[0].o.ClusterID, list[0].o.NodeID, list[0].disk.boot, Void{Number: bad.Number, Index: bad.Index})
		if err != nil {
			t.Fatal(err)
		}
		enter(t, log, raw)
		ended(t, list[2].up(), ErrNotSkipped)
		for i := range nodes {
			mustPut(t, begin(t, list[i]), fmt.Sprint("after ", i))
		}
		for _, h := range list[:2] {
			if err := h.up().Latest(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []string{"before 0", "before 1", "before 2", "good", "better", "after 0", "after 1"}
			if got := h.texts(); !slices.Equal(got, want) {
				t.Errorf("%s: %q", h.o.Name, got)
			}
		}
		list[2].kill()
		ended(t, begin(t, list[2]), ErrNotSkipped)
	})
}

// A message of another program stops a node, unless it is skipped.
func TestForeignMessagesStop(t *testing.T) {
	foreign, err := Batch(ClusterID{9}, NodeID{9}, 1, Join{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"another cluster": {foreign, ErrForeign},
		"no message":      {[]byte("no message"), errMessage},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list := hosts(t, "a")
				h := list[0]
				mustPut(t, h.up(), "before")
				number := enter(t, log, c.data)
				ended(t, h.up(), c.want)
				h.kill()
				h.disk.boot++
				raw, err := Batch(h.o.ClusterID, h.o.NodeID, h.disk.boot, Void{Number: number, Index: -1})
				if err != nil {
					t.Fatal(err)
				}
				enter(t, log, raw)
				mustPut(t, begin(t, h), "after")
				if got := h.texts(); !slices.Equal(got, []string{"before", "after"}) {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// A message that is skipped as a whole still counts: a node that joined in it
// is a member and leads, and what it sent after it is accepted.
func TestVoidOfAWholeMessage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		h := list[0]
		mustPut(t, h.up(), "before")
		h.kill()
		broken := errors.New("cannot be executed")
		h.fail = func(p store.Placed) error {
			if text(p.Command) == "bad" {
				return broken
			}
			return nil
		}
		m := message{cluster: h.o.ClusterID, node: node("x"), boot: 1, counter: 1, items: []item{{own: Join{Name: "x", Version: proofVersion}}, {own: Lease{Epoch: 1}}, {store: say("bad")}}}
		number := enter(t, log, mustEncode(t, m))
		m.counter, m.items = 2, []item{{epoch: 1, store: say("good")}}
		enter(t, log, mustEncode(t, m))
		h.disk.boot++
		raw, err := Batch(h.o.ClusterID, h.o.NodeID, h.disk.boot, Void{Number: number, Index: -1})
		if err != nil {
			t.Fatal(err)
		}
		enter(t, log, raw)
		mustPut(t, begin(t, h), "after")
		if got := h.texts(); !slices.Equal(got, []string{"before", "good", "after"}) {
			t.Errorf("%q", got)
		}
		h.kill()
		mustPut(t, begin(t, h), "later")
	})
}

// A message that all members have executed is no longer skipped, and no node
// stops.
func TestVoidOfWhatIsExecuted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b")
		mustPut(t, list[0].up(), "x")
		number := list[0].disk.copyRows()[0].place.Number
		time.Sleep(time.Minute)
		list[1].kill()
		list[1].disk.boot++
		raw, err := Batch(list[1].o.ClusterID, list[1].o.NodeID, list[1].disk.boot, Void{Number: number, Index: 0}, Void{Number: 1 << 40, Index: 0})
		if err != nil {
			t.Fatal(err)
		}
		enter(t, log, raw)
		for _, h := range []*host{list[0], list[1]} {
			h.kill()
			mustPut(t, begin(t, h), "after")
		}
		if got := list[0].texts(); got[0] != "x" {
			t.Errorf("%q", got)
		}
		if _, err := list[0].up().Submit(t.Context(), Void{Number: number}); !errors.Is(err, ErrNotSkipped) {
			t.Errorf("%v", err)
		}
	})
}
