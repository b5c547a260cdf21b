package events_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// What a request does in later transactions is done at the time of its command,
// whatever a store's own clock says, and also after a restart in between.
func TestLaterStepsHaveTheCommandsTime(t *testing.T) {
	many := storetest.NewKey("many")
	var all []store.Placed
	add := func(ev *nostr.Event) {
		n := uint64(len(all) + 1)
		all = append(all, store.Placed{
			Place: store.LogPlace{Number: n}, At: storetest.Start.Unix() + int64(n),
			Command: store.PutEvent{Event: wire.AppendEvent(nil, ev), Import: true},
		})
	}
	tags := nostr.Tags{}
	for i := range 600 {
		ev := many.Fake(1, int64(i), fmt.Sprintf("%01000d", i), nostr.Tag{"p", bob.Pub})
		add(ev)
		tags = append(tags, nostr.Tag{"e", ev.ID})
	}
	entry := many.Entry(bob, 700, "a contract", "taken back")
	add(entry)
	add(many.Fake(5, 800, "", append(tags, nostr.Tag{"e", entry.ID})...))
	var empty []byte // all begin with one database, as nodes do
	run := func(clock time.Time, stop bool) []string {
		o := &several{clock: func() time.Time { return clock }}
		options := storetest.Options(t, func(so *sqlite.Options) {
			so.Clock = o.clock
			so.OnCommit = func(batch []store.Committed) {
				if stop && batch[len(batch)-1].Event.Kind == nostr.KindDeletion { // what is left of it fails
					events.BreakCommits(o.s)
				}
			}
		})
		if empty == nil {
			o.open(t, options)
			o.s.Close()
			empty = readFile(t, options.Path)
		}
		if err := os.WriteFile(options.Path, empty, 0o600); err != nil {
			t.Fatal(err)
		}
		o.open(t, options)
		defer func() { o.s.Close() }()
		if err := o.s.Execute(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if stop {
			o.s.Close()
			if o.halted == nil {
				t.Fatal("the request was done at once")
			}
			o.halted = nil
			o.open(t, options)
		}
		if err := o.s.Execute(t.Context(), []store.Placed{{Place: store.LogPlace{Number: uint64(len(all) + 1)}, At: all[len(all)-1].At}}); err != nil {
			t.Fatal(err)
		}
		o.s.Close()
		o.open(t, options)
		wantWhole(t, o.s)
		if int(o.durable.place.Number) != len(all)+1 {
			t.Fatalf("executed up to %d of %d", o.durable.place.Number, len(all)+1)
		}
		return dump(t, o.s)
	}
	want := run(time.Unix(1_900_000_000, 0), false)
	for name, got := range map[string][]string{"another clock": run(time.Unix(1_950_000_000, 0), false), "a restart": run(time.Unix(1_960_000_000, 0), true)} {
		if i := firstDifference(got, want); i >= 0 {
			t.Errorf("%s: row %d differs:\n%.300s\n%.300s", name, i, at(got, i), at(want, i))
		}
	}
}
