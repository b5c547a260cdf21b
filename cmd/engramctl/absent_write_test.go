package main

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// cell is one cell of the table of absence.
type cell struct {
	configured, listed string   // states
	relays             []string // that are configured; the first is up and knows the list
	found              string   // "", current or stale
	partial            bool     // some relay does not answer
	undecided          bool     // the relay that is to decide between writers does not answer
}

func cellOf(asked *places, relays []string, configured, listed string) cell {
	silent := func(state string) bool { return state == fails || state == hangs }
	c := cell{configured: configured, listed: listed, relays: relays, partial: silent(configured) || silent(listed),
		undecided: silent(configured) && slices.Min(relays) == asked.url(configured)}
	for _, state := range []string{stale, current} {
		if configured == state || listed == state {
			c.found = state
		}
	}
	return c
}

// patchOfCurrent is made for the current text of a memory.
const patchOfCurrent = "--- a\n+++ b\n@@ -1 +1 @@\n-" + current + "\n\\ No newline at end of file\n+patched\n\\ No newline at end of file\n"

// commandsThatWrite are commands that can say "absent" or "done" and write,
// each to a slug of its own.
var commandsThatWrite = []struct {
	args  []string
	stdin string
	want  func(c cell) said
}{
	{[]string{"mem", "patch", "patched", "--base", fmt.Sprintf("%x", sha256.Sum256([]byte(current)))}, patchOfCurrent, func(c cell) said {
		switch {
		case c.found == stale:
			return said{5, ""}
		case c.found == current && c.undecided:
			return said{0, "kept on this machine"}
		case c.found == current:
			return said{0, "mem/patched"}
		}
		return orElse("", c.partial, said{1, ""})
	}},
	{[]string{"mem", "restore", "restored", "--at", "now"}, "", func(c cell) said {
		if c.found != "" {
			return said{0, "mem/restored"}
		}
		return orElse("", c.partial, said{1, ""})
	}},
	{[]string{"mem", "set", "based", "new", "--base", "none"}, "", func(c cell) said {
		switch {
		case c.found != "":
			return said{5, ""}
		case c.undecided:
			return said{0, "kept on this machine"}
		}
		return orElse("", c.partial, said{0, "mem/based"})
	}},
}

// syncSaid is what sync without relays says: it needs every relay.
func syncSaid(c cell) said {
	took := ", took "
	if c.found == "" {
		took = "lacked 0, took 0"
	}
	if c.partial {
		return said{4, took}
	}
	return said{0, took}
}

// agentsSaid is what agents ls says. It asks the configured relays alone.
func agentsSaid(c cell) said {
	if c.found != "" {
		return said{0, "core, 1 memory"}
	}
	return orElse("", c.partial, said{0, ""})
}

// plantFor makes an agent of its own, for an owner of its own, and gives it the
// memory that the relays of a cell have of it.
func (p *places) plantFor(t *testing.T, c cell, number uint64) identity {
	t.Helper()
	now, agent, owner := time.Now().Unix(), relaytest.NewKey(number), relaytest.NewKey(number+5000).Pub
	if c.listed != none {
		publish(t, c.relays[0], relaytest.Sign(agent, 10002, now, "", nostr.Tag{"r", p.url(c.listed)}))
	}
	for state, at := range map[string]int64{current: now - 10, stale: now - 1000} {
		if c.configured != state && c.listed != state {
			continue
		}
		for _, slug := range []string{"mem/patched", "mem/restored", "mem/based"} {
			publish(t, p.url(state), relaytest.Memory(agent, owner, slug, state, at))
		}
	}
	return identityOf(t, agent, owner)
}
