package nipae

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
)

func FuzzParseSlug(f *testing.F) {
	for _, s := range []string{"core", "mem/a", "mem/a/b-c_d", "mem/A", "mem//a", "mem/a\n", "foo", "", longSlug(255), longSlug(256), "mem/é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slug, err := ParseSlug(s)
		if (err == nil) != validSlug(s) {
			t.Fatalf("%q: %v, and the grammar says valid: %v", s, err, validSlug(s))
		}
		if err == nil && string(slug) != s {
			t.Fatalf("%q became %q", s, slug)
		}
		normal, err := NormalizeSlug(s)
		if err == nil {
			if again, err := NormalizeSlug(string(normal)); err != nil || again != normal {
				t.Fatalf("%q normalizes to %q and that to %q", s, normal, again)
			}
			if got := References("[[" + string(normal) + "]]"); !equalSlugs(got, normal) {
				t.Fatalf("a reference to %q is %q", normal, got)
			}
		}
		if valid := validSlug(s) || validSlug("mem/"+s) && !strings.HasPrefix(s, "mem/"); (err == nil) != valid {
			t.Fatalf("%q normalizes: %v, want %v", s, err, valid)
		}
	})
}

func FuzzParseBody(f *testing.F) {
	for _, e := range readVectors(f).Events {
		f.Add([]byte(e.Body))
	}
	for _, s := range []string{
		`{"slug":"mem/a","value":"v","x":{"a":[1,{"b":null}]},"y":1e5}`, `{"slug":"mem/a","value":"v","value":"v"}`,
		`{"slug":"mem/a","value":"\ud800"}`, `{"slug":"mem/a","value":"v","x":{"a":1,"\u0061":2}}`, ` {"profile" : "\u00e9", "slug" : "core"} `,
		`{"slug":"core","profile":null}`, "{\"slug\":\"mem/a\",\"value\":\"\xff\"}", `[]`, ``, `{"Slug":"core","profile":"p"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		kept := slices.Clone(raw)
		b, err := ParseBody(raw)
		if string(raw) != string(kept) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if !errors.Is(err, ErrBody) {
				t.Fatalf("%v is not ErrBody", err)
			}
			return
		}
		agreesWithEncodingJSON(t, raw, b)
		got, err := b.Bytes()
		if err != nil || len(got) > len(raw) {
			t.Fatalf("writes as %d bytes, was %d: %v", len(got), len(raw), err)
		}
		again, err := ParseBody(got)
		if err != nil {
			t.Fatalf("%q does not parse again: %v", got, err)
		}
		if twice, err := again.Bytes(); err != nil || string(twice) != string(got) {
			t.Fatalf("%q, then %q (%v)", got, twice, err)
		}
		edited, err := ParseBody(must(b.WithText("\x00é\"").Bytes()))
		if text, ok := edited.Text(); err != nil || text != "\x00é\"" || !ok || len(edited.members) != len(b.members) {
			t.Fatalf("edited: %q, %v", text, err)
		}
	})
}

// agreesWithEncodingJSON checks what was accepted against the parser of the
// standard library, which is laxer but reads the same from valid JSON.
func agreesWithEncodingJSON(t *testing.T, raw []byte, b Body) {
	t.Helper()
	var plain map[string]any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if err := dec.Decode(&plain); err != nil || !utf8.Valid(raw) {
		t.Fatalf("accepted %q: %v", raw, err)
	}
	if plain["slug"] != string(b.slug) || !validSlug(string(b.slug)) || len(plain) != len(b.members) {
		t.Fatalf("%q: slug %q and %d members", raw, b.slug, len(b.members))
	}
	text, ok := b.Text()
	if want := plain[textName(b.slug)]; ok && want != text || !ok && (want != nil || b.slug.IsCore()) {
		t.Fatalf("%q: text %q, %v", raw, text, ok)
	}
}

func FuzzReferences(f *testing.F) {
	for _, s := range []string{"", "[[mem/a]] [[core]]", "[[[mem/a]]]", "[[mem/a[[mem/b]]", "[[mem/a] ]", "\xff[[mem/a/b_-]]", "[[" + longSlug(256) + "]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := References(text)
		if want := referencesByGrammar(text); utf8.ValidString(text) && !equalSlugs(got, want...) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
		for i, s := range got {
			if !validSlug(string(s)) || !strings.Contains(text, "[["+string(s)+"]]") || slices.Contains(got[:i], s) {
				t.Fatalf("%q: %q", text, got)
			}
		}
	})
}

// FuzzOpen opens what a hostile relay may send. Only what the agent signed may
// come through, and nothing may panic, with either signature library.
func FuzzOpen(f *testing.F) {
	p := newPair(f, 1, 2)
	for _, ev := range append(vectorEvents(f), p.sealRaw("mem/a", "?", 5)) {
		f.Add(ev.ID, ev.PubKey, ev.Sig, int64(ev.CreatedAt), ev.Kind, ev.Tags[0][1], ev.Tags[1][1], ev.Content, "")
		f.Add(ev.ID, ev.PubKey, ev.Sig+"00", int64(ev.CreatedAt), ev.Kind, ev.Tags[0][1], ev.Tags[1][1], ev.Content, "expiration")
		f.Add(ev.ID, ev.PubKey, "", int64(ev.CreatedAt), ev.Kind, ev.Tags[0][1], ev.Tags[1][1], ev.Content+"\n", "p")
	}
	known := vectorEvents(f)
	f.Fuzz(func(t *testing.T, id, pubkey, sig string, at int64, kind int, d, owner, content, extra string) {
		ev := &nostr.Event{ID: id, PubKey: pubkey, Sig: sig, CreatedAt: nostr.Timestamp(at), Kind: kind, Content: content,
			Tags: nostr.Tags{{"d", d}, {"p", owner}}}
		if extra != "" {
			ev.Tags = append(ev.Tags, nostr.Tag{extra, "1"})
		}
		engram, err := p.open(ev)
		if err == nil {
			if !slices.ContainsFunc(known, func(k *nostr.Event) bool { return compareWhole(k, ev) == 0 }) {
				t.Fatalf("opened an event that nobody signed: %v", ev)
			}
			if p.key.Address(engram.Slug()) != d {
				t.Fatal("opened at another address")
			}
		}
		r, headErr := p.head("mem/example", ev, ev)
		if headErr == nil && (r.Head == nil) {
			t.Fatal("an event that was returned counts as absence")
		}
	})
}

// FuzzSealOpen: whatever text is sealed comes back.
func FuzzSealOpen(f *testing.F) {
	f.Add("", int64(1))
	f.Add("hello, agent memory", int64(1_700_000_000))
	f.Add("\x00\"\\\u2028<é>\U0001F9E0", int64(1)<<53)
	p := newPair(f, 1, 2)
	f.Fuzz(func(t *testing.T, text string, at int64) {
		ev, err := Seal(p.key, NewProfile(text), Sealing{Secret: p.secret, Owner: p.owner, CreatedAt: at, Rand: p.random})
		if err != nil {
			if utf8.ValidString(text) && at > 0 && len(text) < MaxBody/6-100 {
				t.Fatal(err)
			}
			return
		}
		engram, err := p.open(ev)
		if got, ok := engram.Body.Text(); err != nil || got != text || !ok {
			t.Fatalf("%q came back as %q, %v", text, got, err)
		}
	})
}
