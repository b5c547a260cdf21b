package mcp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// TestSessionOfTheHarness: what is written is stamped with the harness's session
// as it is at that moment, else with the server's own, and each write that
// succeeded is told to who counts them.
func TestSessionOfTheHarness(t *testing.T) {
	var mu sync.Mutex
	current, wrote := "", []string{}
	f := newFake()
	p := connect(t, newServer(options{Memory: f, Session: "began", Current: func(context.Context) string {
		mu.Lock()
		defer mu.Unlock()
		return current
	}, Wrote: func(ctx context.Context, slugs []string) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			t.Error("the count ends with the call")
		}
		wrote = append(wrote, slugs...)
	}}))
	for _, step := range []struct{ now, want string }{{"", "began"}, {"one", "one"}, {"two", "two"}} {
		mu.Lock()
		current = step.now
		mu.Unlock()
		out := ask[writeOut](p, "memory_note", args{"text": "It is " + step.want})
		if got := frontmatter.Parse(f.texts[nipae.Slug(out.Slug)]).Fields(); got.Session != step.want || got.Source != "test:"+step.want {
			t.Errorf("stamped %q, %q, want %s", got.Session, got.Source, step.want)
		}
	}
	ask[writeOut](p, "memory_write", args{"slug": "a", "text": "one"})
	ask[writeOut](p, "memory_append", args{"slug": "a", "text": "two"})
	ask[renameOut](p, "memory_rename", args{"slug": "a", "to": "b"})
	ask[readOut](p, "memory_read", args{"slug": "b"})
	ask[deleteOut](p, "memory_delete", args{"slug": "b"})
	p.refused("memory_edit", args{"slug": "b", "old_str": "x", "new_str": "y"})
	mu.Lock()
	defer mu.Unlock()
	notes := slices.DeleteFunc(slices.Clone(wrote), func(s string) bool { return !strings.HasPrefix(s, "mem/journal/") })
	rest := slices.DeleteFunc(wrote, func(s string) bool { return strings.HasPrefix(s, "mem/journal/") })
	if len(notes) != 3 || !slices.Equal(rest, []string{"mem/a", "mem/a", "mem/a", "mem/b", "mem/b"}) {
		t.Errorf("told of %v and %v", notes, rest)
	}
}
