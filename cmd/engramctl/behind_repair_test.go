package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// TestBehindRepairs has relays in every condition repaired from machines that know what
// was there, and then given up. What is sent is what was signed; what need not be there is
// not brought back, and nothing is written where there is nothing to send.
func TestBehindRepairs(t *testing.T) {
	t.Parallel()
	l := newLostTable(t, "mem/notes")
	l.cells(t, l.repairs)
}

// repairs repairs a cell, and gives up what is left.
func (l *lostTable) repairs(t *testing.T, c lostCell, m *machine) {
	if wrong := l.repaired(t, c, m); wrong != "" {
		t.Errorf("%v: %s", c, wrong)
	}
}

// repaired is what repairs finds wrong; "" is well.
func (l *lostTable) repaired(t *testing.T, c lostCell, m *machine) string {
	shown := map[string][]*nostr.Event{}
	for slug := range m.newest {
		shown[slug] = l.versions(t, m, slug)
	}
	sends := c.behind() && c.answer() == newest && c.condition != blockedThere
	code := 0
	if c.behind() && !sends {
		code = 6
	}
	got := m.run(nil, "repair")
	if c.behind() && c.knows == stateKnows { // when relays last showed it is not known without a copy
		if got.code != 2 || strings.Contains(got.stdout, "took it") {
			return fmt.Sprintf("repair without a word: %+v", got)
		}
		got = m.run(nil, "repair", "--yes")
	}
	if got.code != code || strings.Contains(got.stdout, "took it") != sends {
		return fmt.Sprintf("repair: %+v, want exit code %d", got, code)
	}
	for slug, before := range shown {
		after := l.versions(t, m, slug)
		switch {
		case sends && (len(after) == 0 || !equalEvents(after[0], m.newest[slug])):
			return slug + " is not there as it was signed"
		case !sends && !slices.EqualFunc(before, after, equalEvents):
			return slug + " is changed"
		}
	}
	if c.behind() && !sends {
		got = m.run(nil, "repair", "--accept-loss", "--all")
		if got.code != 0 {
			return fmt.Sprintf("repair --accept-loss: %+v", got)
		}
		c.knows = newMachine // nothing is missed any more
	} else if sends {
		c.condition = asItWas
	}
	for _, slug := range []string{"notes", "core"} {
		got = m.run(nil, "mem", "get", slug)
		if wrong := text(1)(c, got); wrong != "" {
			return fmt.Sprintf("mem get %s afterwards: %s: %+v", slug, wrong, got)
		}
	}
	return ""
}
