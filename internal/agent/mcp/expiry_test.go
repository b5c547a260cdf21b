package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// TestExpires: the argument is read by the server's clock, the answer says when it is, and
// a list too; a time that is none, or what may not go, writes nothing.
func TestExpires(t *testing.T) {
	m := newFake()
	var asked []memory.Expiry
	at := time.Date(2026, 12, 22, 6, 2, 44, 0, time.UTC)
	m.set = func(_ context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
		if asked = append(asked, o.Expires); slug == "mem/there" {
			return client.Entry{}, client.Status{}, client.ErrExpiry
		}
		text = "---\nexpires: " + at.Format(time.RFC3339) + "\n---\n" + text
		m.texts[slug] = text
		e := entryOf(slug, text)
		e.Expires = at.Unix()
		return e, client.Status{}, nil
	}
	p := unitServer(t, m, nil)
	made := ask[writeOut](p, "memory_write", args{"slug": "wifi", "text": "x", "expires": "30d"})
	if want := (memory.Expiry{At: at.Unix()}); len(asked) != 1 || asked[0] != want || made.Expires != "2026-12-22T06:02:44Z" {
		t.Errorf("%+v %+v", asked, made)
	}
	if l := ask[listOut](p, "memory_list", args{}); len(l.Entries) != 1 || l.Entries[0].Expires != "2026-12-22T06:02:44Z" {
		t.Errorf("%+v", l)
	}
	for _, in := range []args{{"slug": "wifi", "text": "x", "expires": "yesterday"}, {"slug": "wifi", "text": "x", "expires": "11000d"}, {"slug": "core", "text": "x", "expires": "1d"}, {"slug": "there", "text": "x", "expires": "1d"}} {
		if f, _ := p.refused("memory_write", in); f.Code != CodeInvalid {
			t.Errorf("%v: %+v", in, f)
		}
	}
	for _, expires := range []string{"soon", "1s with 0123abcd"} {
		if f, _ := p.refused("memory_note", args{"text": "x", "expires": expires}); f.Code != CodeInvalid {
			t.Errorf("%q: %+v", expires, f)
		}
	}
	// What is there is for a person to let go.
	for _, slug := range []string{"wifi", "new", "there"} {
		if f, words := p.refused("memory_write", args{"slug": slug, "text": "x", "expires": "1s with 0123abcd"}); f.Code != CodeInvalid || !strings.Contains(words, "engramctl mem set --expires") {
			t.Errorf("%s: %s", slug, words)
		}
	}
	if len(asked) != 2 { // the first, and the one of which only the history was in the way
		t.Errorf("%+v", asked)
	}
}
