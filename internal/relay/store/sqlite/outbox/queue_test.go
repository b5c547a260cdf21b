package outbox_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

const (
	north = "wss://north.example"
	south = "wss://south.example"
)

// waiting lists what waits for a target as CONTRACT/NUMBER of the entry, with
// "!" when this relay is to have it first.
func waiting(t *testing.T, s *sqlite.Store, target string) (out []string) {
	t.Helper()
	items, err := s.Outbox(t.Context(), target, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		text := fmt.Sprintf("%s/%d", it.Contract, it.N)
		if it.Ahead {
			text += "!"
		}
		out = append(out, text)
	}
	return out
}

func queueEntry(t *testing.T, s *sqlite.Store, contract string, at int64, targets ...string) *nostr.Event {
	t.Helper()
	ev := alice.Fake(30090, at, fmt.Sprintf(`{"type":"message","content":"%d"}`, at), nostr.Tag{"d", contract}, nostr.Tag{"t", "message"}, nostr.Tag{"p", bob.Pub})
	if err := s.Tell(t.Context(), store.QueueEvent{Event: wire.AppendEvent(nil, ev), Targets: targets}); err != nil {
		t.Fatal(err)
	}
	return ev
}

func TestOutboxKeepsOrderUntilAllHaveIt(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	want := func(target string, items ...string) {
		t.Helper()
		if got := waiting(t, s, target); !slices.Equal(got, items) {
			t.Errorf("for %q wait %v, want %v", target, got, items)
		}
	}
	done := func(target string, n ...int64) {
		t.Helper()
		if err := s.Tell(ctx, store.OutboxDone{Target: target, Numbers: n}); err != nil {
			t.Fatal(err)
		}
	}
	first := queueEntry(t, s, "c", 1, store.OutboxLocal, north, south)
	queueEntry(t, s, "d", 2, north)
	queueEntry(t, s, "c", 3, store.OutboxLocal, north)
	if err := s.Tell(ctx, store.QueueEvent{Event: wire.AppendEvent(nil, first), Targets: []string{north}}); err != nil {
		t.Fatal(err)
	}
	want(store.OutboxLocal, "c/1", "c/3")
	want(north, "c/1!", "d/2", "c/3!")
	want(south, "c/1!")
	for _, x := range []struct {
		contract, author string
		want             bool
	}{{"c", alice.Pub, true}, {"c", bob.Pub, false}, {"d", alice.Pub, false}} {
		if waits, err := s.OutboxWaits(ctx, x.contract, x.author); err != nil || waits != x.want {
			t.Errorf("%s waits: %t, %v", x.contract, waits, err)
		}
	}
	newest := func(contract, author string, want int64) {
		t.Helper()
		if at, err := s.OutboxNewest(ctx, contract, author); err != nil || at != want {
			t.Errorf("newest of %s: %d, %v", contract, at, err)
		}
	}
	newest("c", alice.Pub, storetest.Start.Unix()+3)
	newest("c", bob.Pub, 0)
	newest("e", alice.Pub, 0)
	newest("c", "nobody", 0)
	done(store.OutboxLocal, 1)
	want(north, "c/1", "d/2", "c/3!")
	done(north, 1, 2)
	done(north, 1) // once more is no error
	if n := rows(t, s, "contract_outbox"); n != 2 {
		t.Errorf("%d events are kept, want those that somebody waits for", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.MustOpen(t, func(c *sqlite.Options) { c.Path = o.Path })
	want(store.OutboxLocal, "c/3")
	want(north, "c/3!")
	want(south, "c/1")
	lag := map[string][2]int64{}
	if err := s.OutboxLag(ctx, func(target string, n, oldest int64) { lag[target] = [2]int64{n, oldest} }); err != nil || len(lag) != 3 || lag[south] != [2]int64{1, storetest.Start.Unix()} {
		t.Errorf("lag %v, %v", lag, err)
	}
	if err := s.Tell(ctx, store.OutboxKeep{Targets: []string{north}}); err != nil {
		t.Fatal(err)
	}
	want(south)
	want(north, "c/3!")
	if n := rows(t, s, "contract_outbox"); n != 1 {
		t.Errorf("%d events after a target was left", n)
	}
	done(store.OutboxLocal, 3)
	done(north, 3)
	if fourth := queueEntry(t, s, "c", 4, north); s.Tell(ctx, store.OutboxWithdraw{EventID: fourth.ID}) != nil || s.Tell(ctx, store.OutboxWithdraw{EventID: first.ID}) != nil {
		t.Error("not withdrawn")
	}
	if n := rows(t, s, "contract_outbox") + rows(t, s, "contract_outbox_for"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	queueEntry(t, s, "c", 5, north)
	want(north, "c/5") // numbers are not given out again
	wantWhole(t, s)
}

func TestOutboxComesInPages(t *testing.T) {
	s := storetest.MustOpen(t)
	for i := range 7 {
		queueEntry(t, s, "c", int64(i), north)
	}
	var got []int64
	for after := int64(0); ; {
		items, err := s.Outbox(t.Context(), north, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			got, after = append(got, it.N), it.N
		}
	}
	if !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("pages hold %v", got)
	}
}

// TestVanishedAuthorIsNotPublished: what he has on its way is forgotten, and
// nothing of others.
func TestVanishedAuthorIsNotPublished(t *testing.T) {
	s := storetest.MustOpen(t)
	queueEntry(t, s, "c", 1, store.OutboxLocal, north)
	queueEntry(t, s, "d", 2, south)
	other := bob.Fake(30090, 3, `{"type":"message","content":"x"}`, nostr.Tag{"d", "c"}, nostr.Tag{"t", "message"}, nostr.Tag{"p", alice.Pub})
	if err := s.Tell(t.Context(), store.QueueEvent{Event: wire.AppendEvent(nil, other), Targets: []string{north}}); err != nil {
		t.Fatal(err)
	}
	put(t, s, contractEvent(alice, 62, "x", bob.Pub, storetest.Start.Unix()+10, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	for target, want := range map[string][]string{store.OutboxLocal: nil, south: nil, north: {"c/3"}} {
		if got := waiting(t, s, target); !slices.Equal(got, want) {
			t.Errorf("for %q wait %v, want %v", target, got, want)
		}
	}
	if n := rows(t, s, "contract_outbox"); n != 1 {
		t.Errorf("%d events are kept", n)
	}
}

// TestRefusalsAreKept until the target takes the event, its author vanishes, or
// the target is left; a final one takes the event off the list, and that of
// this relay off all of them.
func TestRefusalsAreKept(t *testing.T) {
	s := storetest.MustOpen(t)
	want := func(ev *nostr.Event, refusals ...store.ContractRefusal) {
		t.Helper()
		id, err := hex.DecodeString(ev.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.ContractRefusals(t.Context(), [][]byte{id, make([]byte, 32)})
		if err != nil || len(got) != 2 || !slices.Equal(got[0], refusals) || got[1] != nil {
			t.Errorf("refused %+v (%v), want %+v", got, err, refusals)
		}
	}
	refuse := func(target string, ev *nostr.Event, reason string, final bool) {
		t.Helper()
		if err := s.OutboxRefused(t.Context(), target, ev, reason, final); err != nil {
			t.Fatal(err)
		}
	}
	at := storetest.Start.Unix()
	first, second, third := queueEntry(t, s, "c", 1, north, south), queueEntry(t, s, "c", 2, north), queueEntry(t, s, "c", 3, store.OutboxLocal, north)
	refuse(north, first, "blocked", false)
	refuse(north, first, "restricted", false)
	refuse(south, first, "invalid", true)
	refuse(north, second, "invalid", true)
	want(first, store.ContractRefusal{Target: north, Reason: "restricted", At: at}, store.ContractRefusal{Target: south, Reason: "invalid", At: at, Final: true})
	want(second, store.ContractRefusal{Target: north, Reason: "invalid", At: at, Final: true})
	if got := waiting(t, s, north); !slices.Equal(got, []string{"c/1", "c/3!"}) || len(waiting(t, s, south)) != 0 {
		t.Errorf("for %s wait %v", north, got)
	}
	refuse(store.OutboxLocal, third, "invalid", true)
	want(third, store.ContractRefusal{Reason: "invalid", At: at, Final: true})
	if err := s.Tell(t.Context(), store.OutboxDone{Target: north, Numbers: []int64{1}}); err != nil {
		t.Fatal(err)
	}
	want(first, store.ContractRefusal{Target: south, Reason: "invalid", At: at, Final: true})
	if n := rows(t, s, "contract_outbox") + rows(t, s, "contract_outbox_for"); n != 0 {
		t.Errorf("%d rows wait on", n)
	}
	refuse(north, first, "blocked", false) // it was delivered meanwhile
	want(first, store.ContractRefusal{Target: south, Reason: "invalid", At: at, Final: true})
	fourth := queueEntry(t, s, "c", 4, north)
	refuse(north, fourth, "blocked", false)
	if err := s.Tell(t.Context(), store.OutboxKeep{Targets: []string{south}}); err != nil {
		t.Fatal(err)
	}
	want(fourth)
	put(t, s, contractEvent(alice, 62, "x", bob.Pub, at+10, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	want(first)
	want(second)
	want(third)
}
