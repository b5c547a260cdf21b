package answer

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
	"engramd/internal/memory/localcopy"
	"engramd/nips/nipae"
)

const relayURL = "wss://one.example"

// keptCopy is a local copy of texts, as it stands at a time.
func keptCopy(t testing.TB, texts map[string]string, more ...*nostr.Event) *localcopy.Copy {
	t.Helper()
	agent, owner := testkeys.New("agent"), testkeys.New("owner")
	key, err := nipae.DeriveConversationKey(agent.Secret, owner.Pub)
	if err != nil {
		t.Fatal(err)
	}
	m, err := localcopy.Open(t.Context(), localcopy.Pair{Agent: agent.Pub, Owner: owner.Pub, Conversation: key}, localcopy.Options{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	events := more
	for slug, text := range texts {
		events = append(events, eventOf(t, slug, text))
	}
	if _, err := m.Put(t.Context(), relayURL, events); err != nil {
		t.Fatal(err)
	}
	if err := m.SetMark(t.Context(), relayURL, localcopy.Mark{Confirmed: now, Compared: now, Complete: true}); err != nil {
		t.Fatal(err)
	}
	return m
}

func eventOf(t testing.TB, slug, text string) *nostr.Event {
	t.Helper()
	body := nipae.NewProfile(text)
	if slug != "core" {
		var err error
		if body, err = nipae.NewMemory(nipae.Slug(slug), text); err != nil {
			t.Fatal(err)
		}
	}
	return sealed(t, body, now.Unix()-3600)
}

func sealed(t testing.TB, body nipae.Body, at int64) *nostr.Event {
	t.Helper()
	agent, owner := testkeys.New("agent"), testkeys.New("owner")
	key, err := nipae.DeriveConversationKey(agent.Secret, owner.Pub)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := nipae.Seal(key, body, nipae.Sealing{Secret: agent.Secret, Owner: owner.Pub, CreatedAt: at, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// A local copy gives the same answers as texts in memory; what was removed is
// none, and what is reserved is left out.
func TestLocal(t *testing.T) {
	gone, err := nipae.NewTombstone("mem/gone")
	if err != nil {
		t.Fatal(err)
	}
	kept := keptCopy(t, library, sealed(t, gone, now.Unix()-10))
	relays := []string{relayURL}
	whole := true
	source := Local(kept, func() ([]string, bool) { return relays, whole })
	want := over(t, State{}, library)
	err = source.Read(t.Context(), func(v View) error {
		if s := v.State(); s.Stale || s.Unfinished || !s.AsOf.Equal(now) || s.Unreadable != 0 {
			t.Errorf("%+v", s)
		}
		for _, q := range []Query{{Text: "boat"}, {Text: "blue boat"}, {Text: "boat", States: []string{"all"}}, {Text: "coffee"}, {Text: "zebra"}, {Text: "machine proposal"}} {
			got, err1 := Recall(v, q, now)
			expected, err2 := Recall(want, q, now)
			if err1 != nil || err2 != nil || slugs(got.Hits) != slugs(expected.Hits) {
				t.Errorf("%q: %q, not %q", q.Text, slugs(got.Hits), slugs(expected.Hits))
			}
		}
		f, err := Search(v, Query{Text: "cofee"}, 0, now)
		if err != nil || f.Total != 1 || f.Hits[0].Size != len(library["mem/tea"]) || f.Hits[0].Snippets[0].Text != library["mem/tea"] || f.Searched != 5 {
			t.Errorf("%+v %v", f, err)
		}
		var all []string
		for _, h := range v.Heads() {
			all = append(all, h.Slug)
		}
		if len(all) != len(library) || all[0] != "core" || !slices.IsSorted(all) {
			t.Errorf("%v", all)
		}
		for _, view := range []View{v, want} {
			if under := view.Under("mem/te"); len(under) != 1 || under[0].Slug != "mem/tea" || len(view.Under("mem/")) != len(library)-1 {
				t.Errorf("%v", under)
			}
		}
		if _, ok := v.Head("mem/gone"); ok {
			t.Error("what was removed has a head")
		}
		if c := Count(v, nil, ""); c.Memories != 6 {
			t.Errorf("%+v", c)
		}
		if s := SimilarTo(v, "mem/new", "Ana prefers green tea to coffee."); len(s) != 1 || s[0].Slug != "mem/tea" {
			t.Errorf("%+v", s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// A relay that never confirmed anything, or one that is not known yet.
	for _, change := range []func(){func() { relays = append(relays, "wss://two.example") }, func() { relays, whole = relays[:1], false }} {
		change()
		err := source.Read(t.Context(), func(v View) error {
			if s := v.State(); !s.Stale || !s.Partial(0) || s.Partial(1) && !s.Unfinished {
				t.Errorf("%v, %v: %+v", relays, whole, s)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLocalBehind: what no relay shows is counted where all of them were asked, the
// newest is told, and the block says how many.
func TestLocalBehind(t *testing.T) {
	kept := keptCopy(t, map[string]string{"mem/boat": "The boat is blue."})
	if _, err := kept.Put(t.Context(), "", []*nostr.Event{sealed(t, body(t, "mem/boat", "The boat is red."), now.Unix()-60), sealed(t, body(t, "mem/new", "Walnut trees."), now.Unix()-60)}); err != nil {
		t.Fatal(err)
	}
	if err := kept.SetLacking(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for whole, want := range map[bool]State{true: {AsOf: now, Behind: 4, Withheld: 2, BehindAt: now.Unix() - 60}, false: {AsOf: now, Stale: true}} {
		err := Local(kept, func() ([]string, bool) { return []string{relayURL}, whole }).Read(t.Context(), func(v View) error {
			got, err := Recall(v, Query{Text: "boat", Budget: MinBudget}, now)
			if s := v.State(); !s.AsOf.Equal(want.AsOf) || s.Behind != want.Behind || s.Withheld != want.Withheld || s.BehindAt != want.BehindAt || s.Stale != want.Stale {
				t.Errorf("%+v", s)
			}
			if said := strings.HasSuffix(got.Block, "(newer here than relays show: 4; engramctl repair)\n"); said != whole || !strings.Contains(got.Block, "red") {
				t.Errorf("%s", got.Block)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func body(t *testing.T, slug nipae.Slug, text string) nipae.Body {
	t.Helper()
	b, err := nipae.NewMemory(slug, text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
