package localcopy

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// signed is an event of the pair with tags and content as a program makes them that is
// not ours.
func (a *author) signed(t *testing.T, ev *nostr.Event, change func(*nostr.Event)) *nostr.Event {
	t.Helper()
	other := *ev
	other.Tags = append(nostr.Tags{}, ev.Tags...)
	change(&other)
	if err := other.Sign(a.secret); err != nil {
		t.Fatal(err)
	}
	return &other
}

// TestSentAgain: what no relay has any more is given as it was signed, byte for byte,
// whoever made it, also after the file was opened again; and a newer version, the
// event's own time and a drop end that.
func TestSentAgain(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	one := a.write("mem/a", "one", 100)
	protected, err := nipae.Seal(a.Conversation, mustBody(t, "mem/p", "text"), nipae.Sealing{Secret: a.secret, Owner: a.Owner, CreatedAt: 100, Nonce: [32]byte{9}, Alt: true, Protected: true, Expiration: 4_000_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for name, ev := range map[string]*nostr.Event{
		"ours":             one,
		"a tombstone":      a.remove("mem/gone", 100),
		"protected, dated": protected,
		"more tags": a.signed(t, one, func(ev *nostr.Event) {
			ev.Tags = append(ev.Tags, nostr.Tag{"auth", strings.Repeat("ab", 32), "kind=30174", "ff"}, nostr.Tag{"x"}, nostr.Tag{})
		}),
		"tags in disorder":  a.signed(t, one, func(ev *nostr.Event) { ev.Tags[0], ev.Tags[1] = ev.Tags[1], ev.Tags[0] }),
		"letters that jars": a.signed(t, one, func(ev *nostr.Event) { ev.Tags = append(ev.Tags, nostr.Tag{"alt", "\u2028<&>\"\\\x01é"}) }),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := open(t, a.Pair, Options{Dir: dir})
			put(t, m, near, ev)
			d := ev.Tags.GetD()
			if l, ok, err := m.At(t.Context(), d); err != nil || !ok || l.Shown != ShownNow || l.ID != ev.ID {
				t.Fatalf("%+v %v %v", l, ok, err)
			}
			lose(t, m, near, ev)
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			m = open(t, a.Pair, Options{Dir: dir})
			behind, err := behindIn(t.Context(), m)
			if err != nil || len(behind) != 1 || behind[0].Event == nil || behind[0].Shown != ShownNone {
				t.Fatalf("%+v %v", behind, err)
			}
			again, _ := json.Marshal(behind[0].Event)
			if want, _ := json.Marshal(ev); string(again) != string(want) || wire.Verify(behind[0].Event) != nil {
				t.Errorf("%s\nis not\n%s", again, want)
			}
			if _, err := m.Drop(t.Context(), ev.ID); err != nil {
				t.Fatal(err)
			}
			if l, ok, _ := m.At(t.Context(), d); ok {
				t.Errorf("dropped, and there: %+v", l)
			}
		})
	}
}

func mustBody(t *testing.T, slug, text string) nipae.Body {
	t.Helper()
	b, err := nipae.NewMemory(nipae.Slug(slug), text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOwnerIsNotTold: of what no relay shows any more its owner is told nothing, and of
// what relays show an older version of, the newest.
func TestOwnerIsNotTold(t *testing.T) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	v1, v2, other := a.write("mem/a", "one", 100), a.write("mem/a", "two", 200), a.write("mem/b", "other", 150)
	m := open(t, a.Pair, Options{Dir: dir, AsOwner: true})
	put(t, m, near, v2, other)
	put(t, m, near, v1)
	lose(t, m, near, v2)
	lose(t, m, near, other)
	if got := shown(t, m); got != "mem/a = two" {
		t.Errorf("%q", got)
	}
	if err := m.Read(t.Context(), func(v *View) error {
		if got := v.Behind(); got != (Unshown{Older: 1, None: 1, Newest: 200, Hidden: true}) {
			t.Errorf("%+v", got)
		}
		if _, ok := v.Text("mem/b"); ok {
			t.Error("the text is told")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	put(t, m, far, other)
	if got := shown(t, m); got != "mem/a = two\nmem/b = other" {
		t.Errorf("shown again: %q", got)
	}
}

// TestOfNoRelay: what is put in as shown by no relay is told and counted as that, until a
// relay shows it or a newer one; what a copy lacks is noted for each file.
func TestOfNoRelay(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{Dir: t.TempDir()})
	one, two := a.write("mem/a", "one", 100), a.write("mem/a", "two", 200)
	put(t, m, near, one)
	put(t, m, "", two, a.write("mem/b", "other", 150), a.write("mem/sys/x", "a program's", 150))
	if n, err := m.Lacking(t.Context()); err != nil || n != -1 || shown(t, m) != "mem/a = two\nmem/b = other\nmem/sys/x = a program's" {
		t.Errorf("%d %v, %s", n, err, shown(t, m))
	}
	is := func(want Unshown) {
		t.Helper()
		if got, err := m.Unshown(t.Context()); err != nil || got != want {
			t.Errorf("%+v, want %+v; %v", got, want, err)
		}
	}
	is(Unshown{Older: 1, None: 1, Newest: 200})
	if err := m.SetLacking(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	put(t, m, near, two)
	is(Unshown{None: 1, Lacking: 3, Newest: 150})
}

// TestTextsOfBefore: what an older version kept as text alone is asked for again, and
// stays as text where no relay has it.
func TestTextsOfBefore(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{NoDisk: true})
	one, two := a.write("mem/a", "one", 100), a.write("mem/b", "two", 100)
	put(t, m, near, one, two)
	if err := m.write(t.Context(), func(w *writing) error { return w.tx.Exec("DELETE FROM raws") }, &Changes{}); err != nil {
		t.Fatal(err)
	}
	bare, err := m.Bare(t.Context(), near)
	if err != nil || len(bare) != 2 {
		t.Fatal(bare, err)
	}
	put(t, m, near, one)
	lose(t, m, near, two)
	if bare, _ = m.Bare(t.Context(), near); len(bare) != 0 {
		t.Errorf("%d are asked for again", len(bare))
	}
	behind, err := behindIn(t.Context(), m)
	if err != nil || len(behind) != 1 || behind[0].Event != nil || shown(t, m) != "mem/a = one\nmem/b = two" {
		t.Errorf("%+v %v, %s", behind, err, shown(t, m))
	}
}

// behindIn is what no relay shows, with the events.
func behindIn(ctx context.Context, m *Copy) (all []Last, err error) {
	light, err := m.Behind(ctx)
	if err != nil {
		return nil, err
	}
	ds := make([]string, len(light))
	for i, l := range light {
		ds[i] = l.D
	}
	whole, err := m.Those(ctx, ds)
	return slices.Collect(maps.Values(whole)), err
}

// TestLacks: a relay lacks what another one that is asked was seen to have, once all that
// it has was compared.
func TestLacks(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{NoDisk: true})
	one, two, newer := a.write("mem/a", "one", 100), a.write("mem/b", "two", 100), a.write("mem/a", "newer", 200)
	put(t, m, near, one, two)
	put(t, m, far, two, newer)
	lacks := func(want int64, relay string, others ...string) {
		t.Helper()
		if all, err := m.Lacks(t.Context(), []string{relay}, others); err != nil || all[relay] != want {
			t.Errorf("%v %v, want %d", all, err, want)
		}
	}
	lacks(0, near, near, far)
	if err := m.SetMark(t.Context(), near, Mark{Complete: true}); err != nil {
		t.Fatal(err)
	}
	lacks(1, near, near, far)
	lacks(0, near, near)
	lacks(0, far, near, far)
	lose(t, m, far, newer)
	lacks(0, near, near, far) // it is nowhere
}

// FuzzUnpack: what is not what was kept is no event.
func FuzzUnpack(f *testing.F) {
	m := codec{agent: strings.Repeat("0a", 32), owner: strings.Repeat("0b", 32)}
	f.Add([]byte{0}, int64(1))
	f.Add(append([]byte{rawTags}, make([]byte, 80)...), int64(1))
	f.Add(append([]byte{rawTags | rawBase64}, append(make([]byte, 64), 0xff, 0xff, 0xff, 0xff, 0x0f)...), int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, created int64) {
		if ev := m.unpack(event{created: created}, raw); ev != nil {
			t.Errorf("%x is taken for an event", raw)
		}
	})
}
