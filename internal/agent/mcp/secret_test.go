package mcp

import (
	"context"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// TestRefusesSecrets: no tool writes what looks like a key unless told to, and
// no failure repeats it.
func TestRefusesSecrets(t *testing.T) {
	token := "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b"
	m := newFake()
	m.texts["mem/old"] = "has " + token
	m.texts["mem/log"] = "secret key:"
	m.restore = func(_ context.Context, slug nipae.Slug, _ memory.When, check func(old, text string) error) (client.Entry, client.Status, error) {
		if check != nil {
			if err := check("", "was\n"+token); err != nil {
				return client.Entry{}, client.Status{}, err
			}
		}
		return entryOf(slug, token), client.Status{}, nil
	}
	p := connect(t, newServer(options{Memory: m}))
	for _, c := range []struct {
		tool, line, kind string
		args             args
	}{
		{"memory_write", "line 2", "GitHub token", args{"slug": "new", "text": "one\ntwo " + token}},
		{"memory_append", "line 2", "GitHub token", args{"slug": "log", "text": token}},
		{"memory_append", "line 2", "secret key in hex", args{"slug": "log", "text": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"}},
		{"memory_restore", "line 2", "GitHub token", args{"slug": "gone", "version": "2026-01-31T12:00:00Z"}},
	} {
		f, said := p.refused(c.tool, c.args)
		if f.Code != CodeSecret || !strings.Contains(said, c.line) || !strings.Contains(said, c.kind) || strings.Contains(said, token) {
			t.Errorf("%s: %s", c.tool, said)
		}
		c.args["allow_secret"] = true
		if m.writes > 0 {
			t.Errorf("%s wrote", c.tool)
		}
	}
	// What is there already does not stop an edit of the rest.
	ask[writeOut](p, "memory_append", args{"slug": "old", "text": "more"})
	ask[writeOut](p, "memory_write", args{"slug": "old", "text": "still " + token})
	ask[writeOut](p, "memory_write", args{"slug": "new", "text": token, "allow_secret": true})
	ask[writeOut](p, "memory_append", args{"slug": "log", "text": token, "allow_secret": true})
	ask[writeOut](p, "memory_restore", args{"slug": "gone", "version": "2026-01-31T12:00:00Z", "allow_secret": true})
}
