package memory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

func TestParseExpiry(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	for text, want := range map[string]Expiry{
		"":                          {},
		"30d":                       {At: 1_700_000_000 + 30*86400},
		"12h":                       {At: 1_700_000_000 + 12*3600},
		"2030-01-01T00:00:00Z":      {At: 1893456000},
		"30d with 0123abcd":         {At: 1_700_000_000 + 30*86400, With: "0123abcd"},
		"2030-01-01T00:00:00+01:00": {At: 1893452400},
	} {
		if e, err := ParseExpiry(text, now); err != nil || e != want {
			t.Errorf("%q: %+v %v", text, e, err)
		}
	}
	for _, text := range []string{"soon", "-1h", "0s", "1699999999", "2023-11-14T22:13:20Z", "3651d", "30d with", "30d with 0123", "30d with ", " with 0123abcd", "99999999999999999999d"} {
		if e, err := ParseExpiry(text, now); !errors.Is(err, client.ErrExpiry) {
			t.Errorf("%q: %+v %v", text, e, err)
		}
	}
}

func FuzzParseExpiry(f *testing.F) {
	for _, text := range []string{"", "30d", "12h with 0123abcd", "2030-01-01", "in 2 hours", "1e9", " with ", "\x00 with \xff"} {
		f.Add(text)
	}
	now := time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ParseExpiry(text, now); err == nil && text != "" && (e.At <= now.Unix() || e.At > now.Add(maxExpiry).Unix() || e.With != "" && len(e.With) < minPrefix) {
			t.Errorf("%q: %+v", text, e)
		}
	})
}

// expiring is a memory at relays that drop nothing, with a clock that is set.
type expiring struct {
	*Memory
	t   *testing.T
	now int64
	has []*clienttest.Hoard
}

func newExpiring(t *testing.T, relays int) *expiring {
	x := &expiring{t: t, now: 1_700_000_000}
	var urls []string
	for range relays {
		h := &clienttest.Hoard{}
		h.Uncap()
		x.has, urls = append(x.has, h), append(urls, clienttest.StartHoard(t, h))
	}
	x.Memory = agentOf(t, "agent", "owner", urls, func(o *client.Options) { o.Clock = func() time.Time { return time.Unix(x.now, 0) } })
	return x
}

// set writes a text, a second after the one before.
func (x *expiring) set(slug nipae.Slug, text string, e Expiry) client.Entry {
	x.t.Helper()
	x.now++
	entry, _, err := x.Set(x.t.Context(), slug, text, SetOptions{Expires: e})
	if err != nil {
		x.t.Fatal(err)
	}
	return entry
}

// ends is what the relays' endings say, by id.
func (x *expiring) ends() map[string]int64 {
	x.t.Helper()
	all, _, err := x.Since(x.t.Context(), 0)
	if err != nil {
		x.t.Fatal(err)
	}
	in := writerlog.Evidence{Events: map[string]writerlog.Event{}}
	for _, e := range all {
		in.Add(e)
	}
	return in.Ends
}

// TestExpiresWithWhat: what expires takes along what is there, which must be named; a later
// version keeps the time of the one before, and so does the removal, and nothing else does.
func TestExpiresWithWhat(t *testing.T) {
	x := newExpiring(t, 1)
	soon, late := x.now+3600, x.now+7200
	refused := func(slug nipae.Slug, e Expiry, want ...string) {
		t.Helper()
		before := x.has[0].Count()
		_, _, err := x.Set(t.Context(), slug, "refused", SetOptions{Expires: e})
		for _, word := range want {
			if !errors.Is(err, client.ErrExpiry) || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, want %q", slug, err, word)
			}
		}
		if x.has[0].Count() != before {
			t.Errorf("%s was written", slug)
		}
	}
	for _, slug := range []nipae.Slug{"core", "mem/narrative", "mem/sys/x", "mem/proposals-answers/0123456789abcdef0123456789abcdef"} {
		refused(slug, Expiry{At: soon}, "never expire")
	}
	old := x.set("mem/old", "one", Expiry{})
	refused("mem/old", Expiry{At: soon}, "what is there would expire too", old.ID[:8])
	refused("mem/old", Expiry{At: soon, With: "00000000"}, old.ID[:8])
	if e := x.set("mem/old", "two", Expiry{At: soon, With: old.ID[:8]}); e.Expires != soon || !strings.Contains(e.Text, "expires: "+momentOf(soon).String()) {
		t.Errorf("named: %+v", e)
	}
	if ends := x.ends(); len(ends) != 1 || ends[old.ID] != soon {
		t.Errorf("it is not told what goes with it: %v", ends)
	}
	x.set("mem/old", "three", Expiry{})
	e := x.set("mem/new", "one", Expiry{At: soon})
	refused("mem/new", Expiry{At: soon - 60}, e.ID[:8])
	if e = x.set("mem/new", "two", Expiry{}); e.Expires != soon {
		t.Errorf("a later version: %+v", e)
	}
	if e = x.set("mem/new", "three", Expiry{At: late}); e.Expires != late || strings.Contains(e.Text, frontmatterOf(soon)) {
		t.Errorf("a later time: %+v", e)
	}
	x.now++
	if e, _, err := x.Remove(t.Context(), "mem/new", false); err != nil || e.Expires != late {
		t.Errorf("removed: %+v %v", e, err)
	}
	x.now++
	refused("mem/new", Expiry{At: late + 60}, "would expire too") // its history
	if e = x.set("mem/new", "four", Expiry{}); e.Expires != 0 {
		t.Errorf("after its removal: %+v", e)
	}
	if ends := x.ends(); len(ends) != 1 {
		t.Errorf("told of what was to go anyway: %v", ends)
	}
	x.set("mem/story", "one", Expiry{At: soon})
	x.now++
	if _, _, err := x.Set(t.Context(), "mem/story", "---\ntype: narrative\n---\ntwo", SetOptions{}); !errors.Is(err, client.ErrExpiry) {
		t.Errorf("a narrative: %v", err)
	}
	if all, err := x.Add(t.Context(), []NewText{{Slug: "mem/journal/1", Text: "x", Expires: soon}, {Slug: "mem/sys/y", Text: "y", Expires: soon}}); err != nil ||
		all[0].Entry.Expires != soon || !strings.Contains(all[0].Entry.Text, "expires: ") || all[1].Entry.Expires != 0 {
		t.Errorf("added: %+v %v", all, err)
	}
}

func frontmatterOf(at int64) string { return momentOf(at).String() }

// TestExpiryIsStamped: whatever way a text comes, what it says of its expiry is a claim.
func TestExpiryIsStamped(t *testing.T) {
	x := newExpiring(t, 1)
	claim := "---\nexpires: 2020-01-01\n---\nwords"
	for name, write := range map[string]func() (client.Entry, error){
		"set": func() (client.Entry, error) {
			e, _, err := x.Set(t.Context(), "mem/a", claim, SetOptions{})
			return e, err
		},
		"add": func() (client.Entry, error) {
			all, err := x.Add(t.Context(), []NewText{{Slug: "mem/b", Text: claim}})
			return all[0].Entry, err
		},
		"compose": func() (client.Entry, error) {
			body, _ := nipae.NewMemory("mem/c", claim)
			events, err := x.Compose(t.Context(), []Draft{{Body: body, At: x.now}})
			if err != nil {
				return client.Entry{}, err
			}
			e, err := nipae.Open(x.key(), x.agent, x.owner, events[0])
			return client.EntryOf(e), err
		},
		"restore": func() (client.Entry, error) {
			old := clienttest.EngramAt(t, "agent", "owner", "mem/d", claim, x.now-10)
			x.has[0].Put(old)
			e, _, err := x.Restore(t.Context(), "mem/d", When{ID: old.ID}, nil)
			return e, err
		},
	} {
		e, err := write()
		if err != nil || e.Expires != 0 || e.Text != "---\nexpires_claimed: 2020-01-01\n---\nwords" {
			t.Errorf("%s: %q %v", name, e.Text, err)
		}
	}
	e := x.set("mem/e", claim, Expiry{At: x.now + 3600})
	d := frontmatter.Parse(e.Text)
	if v, _ := d.Value("expires_claimed"); !v.Equal(frontmatter.String("2020-01-01")) || e.Expires != x.now+3599 {
		t.Errorf("with an expiry of its own: %q", e.Text)
	}
}

// TestExpiredIsGone: at its time a memory is gone for each reader, though a relay shows it,
// and another one an older version that never had the newer one.
func TestExpiredIsGone(t *testing.T) {
	x := newExpiring(t, 2)
	soon := x.now + 3600
	old := x.set("mem/x", "older", Expiry{})
	lagging := x.has[1].Last()
	last := x.set("mem/x", "last", Expiry{At: soon, With: old.ID[:8]})
	ending := x.has[1].Last()
	x.has[1].Replace(lagging)
	x.has[1].Put(ending)
	x.set("mem/y", "stays", Expiry{})
	x.has[1].Put(clienttest.EngramAt(t, "agent", "owner", "mem/y", "stays", x.now))
	for _, after := range []bool{false, true} {
		if after {
			x.now = soon
		}
		want := func(what string, there bool, err error) {
			t.Helper()
			if there == after || after && err != nil && !errors.Is(err, client.ErrNotFound) {
				t.Errorf("after %v, %s: there %v, %v", after, what, there, err)
			}
		}
		e, status, err := x.Get(t.Context(), "mem/x")
		want("get", err == nil && e.ID == last.ID, err)
		if status.Behind > 0 || status.Doubtful > 0 {
			t.Errorf("after %v: %+v", after, status)
		}
		l, _, err := x.ListAll(t.Context())
		want("list", len(l.Memories) == 3, err)
		if after && (len(l.Memories) != 2 || l.Memories[1].Slug != "mem/y") {
			t.Errorf("listed: %+v", l)
		}
		versions, _, err := x.Log(t.Context(), "mem/x")
		want("log", len(versions) > 0, err)
		_, _, err = x.At(t.Context(), "mem/x", When{ID: last.ID})
		want("at", err == nil, err)
		g, _, err := x.Graph(t.Context())
		want("graph", len(g.Orphans) == 3, err)
	}
	e, _, err := x.Set(t.Context(), "mem/x", "a new chain", SetOptions{Base: BaseNone})
	if err != nil || e.Expires != 0 || e.CreatedAt <= last.CreatedAt {
		t.Errorf("written again: %+v %v", e, err)
	}
}

// TestEndedIsOlder: of a version that this machine knows to have expired nothing older is
// believed, and what is newer is.
func TestEndedIsOlder(t *testing.T) {
	x := newExpiring(t, 1)
	old := x.set("mem/x", "older", Expiry{})
	d := x.has[0].Last().Tags.GetD()
	k := &knower{most: -1, all: map[string]client.Newest{d: {Ended: old.CreatedAt + 1}}}
	m := agentOf(t, "agent", "owner", []string{x.c.Options().Relays[0]}, func(o *client.Options) {
		o.Known = func(*client.Client, string, string) client.Known { return k }
		o.Clock = x.c.Options().Clock
	})
	for _, there := range []bool{false, true} {
		if there {
			x.now += 10
			x.set("mem/x", "newer", Expiry{})
		}
		_, _, err := m.Get(t.Context(), "mem/x")
		if (err == nil) != there || err != nil && !errors.Is(err, client.ErrNotFound) {
			t.Errorf("there %v: %v", there, err)
		}
		if l, status, err := m.ListAll(t.Context()); err != nil || (len(l.Memories) > 0) != there || status.Behind > 0 {
			t.Errorf("there %v: %+v %v", there, l, err)
		}
	}
}

// TestRestoreKeepsTheExpiry: what is restored expires when what it replaces does, and what
// was removed when it was to; its text claims nothing. Nothing that was to stay expires.
func TestRestoreKeepsTheExpiry(t *testing.T) {
	x := newExpiring(t, 1)
	soon, late := x.now+3600, x.now+7200
	restored := func(slug nipae.Slug, ev *nostr.Event, at int64, want string) {
		t.Helper()
		x.has[0].Put(ev)
		x.now++
		e, _, err := x.Restore(t.Context(), slug, When{ID: ev.ID}, nil)
		if got := frontmatter.Parse(e.Text); err != nil || e.Expires != at || got.Body() != want || strings.Contains(e.Text, "_claimed") ||
			strings.Contains(e.Text, "expires: "+frontmatterOf(at)) != (at > 0) || at == 0 && e.Text != want {
			t.Errorf("%s: expires %d, want %d: %q %v", slug, e.Expires, at, e.Text, err)
		}
	}
	removed := func(slug nipae.Slug) {
		t.Helper()
		x.now++
		if _, _, err := x.Remove(t.Context(), slug, false); err != nil {
			t.Fatal(err)
		}
	}
	wrote := func(slug nipae.Slug, text string, e Expiry) *nostr.Event {
		x.set(slug, text, e)
		return x.has[0].Last()
	}

	one := wrote("mem/removed", "one", Expiry{At: soon})
	removed("mem/removed")
	restored("mem/removed", one, soon, "one")

	one = wrote("mem/extended", "one", Expiry{At: soon})
	wrote("mem/extended", "two", Expiry{At: late})
	restored("mem/extended", one, late, "one")

	one = wrote("mem/stays", "one", Expiry{At: soon})
	removed("mem/stays")
	wrote("mem/stays", "two", Expiry{})
	restored("mem/stays", one, 0, "one")
	removed("mem/stays")
	restored("mem/stays", one, 0, "one")

	// Removed by a program that knows nothing of expiry.
	one = wrote("mem/foreign", "one", Expiry{At: soon})
	x.now++
	gone, _ := nipae.NewTombstone("mem/foreign")
	x.has[0].Replace(clienttest.Sealed(t, "agent", "owner", gone, x.now))
	restored("mem/foreign", one, soon, "one")

	if _, _, err := again(Version{Entry: client.Entry{Expires: soon}}, nil, nipae.Reading{}, soon); !errors.Is(err, client.ErrExpiry) || !strings.Contains(err.Error(), "it has expired") {
		t.Errorf("over: %v", err)
	}
}
