package localcopy

import (
	"context"
	"testing"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// texts are those of mem/x and mem/y, "" for none; both must be what Heads says.
func texts(t *testing.T, m *Copy) (x, y string) {
	t.Helper()
	err := m.Read(context.Background(), func(v *View) error {
		var there bool
		x, there = v.Text("mem/x")
		if _, ok := v.Head("mem/x"); ok != there {
			t.Errorf("a head: %v, a text: %v", ok, there)
		}
		y, _ = v.Text("mem/y")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x, y
}

// TestExpiredStaysEnded: once nobody shows what has expired, an older version that another
// relay has is no memory again, and other memories stay.
func TestExpiredStaysEnded(t *testing.T) {
	const third = "wss://third.example"
	for name, has := range map[string][]string{"a relay had it": {far, third}, "no relay had it": {third}} {
		t.Run(name, func(t *testing.T) {
			clock, a, said := newClock(), newAuthor(t, "agent", "owner"), &lines{}
			now := clock.now().Unix()
			m := open(t, a.Pair, Options{Dir: t.TempDir(), Now: clock.now, Warn: said.add})
			old, last := a.write("mem/x", "the older one", now-20), a.expiring("mem/x", "walnuts", now-10, now+60)
			put(t, m, near, old)
			put(t, m, near, last)
			for _, relay := range has[:len(has)-1] {
				put(t, m, relay, old)
			}
			put(t, m, near, a.write("mem/y", "stays", now-5))
			clock.pass(time.Minute)
			texts(t, m)
			lose(t, m, near, last)
			if err := keepIndex(context.Background(), m, 0); err != nil { // forgets addresses
				t.Fatal(err)
			}
			put(t, m, third, old)
			put(t, m, near, a.write("mem/z", "another address", now-5))
			if x, y := texts(t, m); x != "" || y != "stays" || len(said.all) > 0 {
				t.Errorf("%q, %q, %q", x, y, said.all)
			}
			var rows int64
			if err := m.read(t.Context(), func(tx *sealedfile.Tx) error { rows = tx.Int("SELECT count(*) FROM texts"); return tx.Err() }); err != nil || rows != 2 {
				t.Errorf("%d texts, %v", rows, err)
			}
			put(t, m, third, a.write("mem/x", "a new chain", clock.now().Unix()))
			if x, _ := texts(t, m); x != "a new chain" {
				t.Errorf("written again: %q", x)
			}
		})
	}
}

// TestClockThatWasAhead: what a clock that was ahead dropped is asked for again, and stands
// there again as it was signed; until then nothing older does.
func TestClockThatWasAhead(t *testing.T) {
	clock, a := newClock(), newAuthor(t, "agent", "owner")
	now := clock.now().Unix()
	dir := t.TempDir()
	m := open(t, a.Pair, Options{Dir: dir, Now: clock.now})
	const month = 30 * 24 * time.Hour
	old, last := a.write("mem/x", "the older one", now-20), a.expiring("mem/x", "walnuts", now-10, now+int64(month/time.Second))
	put(t, m, far, old)
	put(t, m, near, last)
	put(t, m, near, a.write("mem/y", "stays", now-5))
	clock.pass(month + time.Hour)
	if x, _ := texts(t, m); x != "" {
		t.Fatalf("while it is ahead: %q", x)
	}
	clock.pass(-month - time.Hour)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = open(t, a.Pair, Options{Dir: dir, Now: clock.now})
	if items, err := m.Holds(t.Context(), near); err != nil || len(items) != 1 {
		t.Errorf("%d events that need not be asked for, %v", len(items), err)
	}
	put(t, m, far, old)
	if x, y := texts(t, m); x != "" || y != "stays" {
		t.Errorf("before it came again: %q, %q", x, y)
	}
	put(t, m, near, last)
	if x, _ := texts(t, m); x != "walnuts" {
		t.Errorf("it came again: %q", x)
	}
	at, ok, err := m.At(t.Context(), last.Tags.GetD())
	if err != nil || !ok || at.Event == nil || at.Event.Sig != last.Sig || at.Expires != now+int64(month/time.Second) {
		t.Errorf("as it was signed: %+v, %v", at, err)
	}
	if items, err := m.Holds(t.Context(), near); err != nil || len(items) != 2 {
		t.Errorf("%d events, %v", len(items), err)
	}
	clock.pass(month)
	if x, _ := texts(t, m); x != "" {
		t.Errorf("when its time is over: %q", x)
	}
}
