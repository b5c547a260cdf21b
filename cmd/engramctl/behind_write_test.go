package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/protocol/wire"
)

// change is a command or a tool that changes a memory of its own.
type change struct {
	slug  string
	args  []string // of the command
	stdin string
	tool  string // instead of a command
	call  map[string]any
	// text is what is there afterwards, of the text that was there.
	text func(was string) string
	// needs says that it changes only what is there, and idle that it does nothing where
	// nothing is; past that it takes the first version, which history has.
	needs, idle, past bool
	// base says that it is made for the newest version.
	base bool
	// to is the slug where the text is afterwards, "" for the same one; and nothing where
	// it was.
	to string
	// gone says that nothing is there afterwards.
	gone bool
}

func door(was string) string { return strings.Replace(was, "gate", "door", 1) }
func same(was string) string { return was }
func more(was string) string { return strings.TrimPrefix(was+"\nAnd more.", "\n") }
func anew(string) string     { return "Written anew." }

const noEnd = "\n\\ No newline at end of file"

var changes = []change{
	{slug: "mem/w/set", args: []string{"mem", "set", "w/set", anew("")}, text: anew},
	{slug: "mem/w/edit", args: []string{"mem", "edit", "w/edit"}, text: door, needs: true, idle: true},
	{slug: "mem/w/rm", args: []string{"mem", "rm", "w/rm"}, gone: true, needs: true},
	{slug: "mem/w/mv", args: []string{"mem", "mv", "w/mv", "w/moved"}, text: same, to: "mem/w/moved", needs: true},
	{slug: "mem/w/link", args: []string{"mem", "link", "w/link", "supports", "elsewhere"}, text: same, needs: true},
	{slug: "mem/w/pin", args: []string{"mem", "pin", "w/pin"}, text: same, needs: true},
	{slug: "mem/w/patch", args: []string{"mem", "patch", "w/patch", "--base", fmt.Sprintf("%x", sha256.Sum256([]byte(newestText("mem/w/patch"))))},
		stdin: "--- a\n+++ b\n@@ -1 +1 @@\n-" + newestText("mem/w/patch") + noEnd + "\n+" + door(newestText("mem/w/patch")) + noEnd + "\n", text: door, needs: true, base: true},
	{slug: "mem/w/restore", args: []string{"mem", "restore", "w/restore", "--at", "THEN"}, text: func(string) string { return firstText("mem/w/restore") }, past: true},
	{slug: "mem/t/write", tool: "memory_write", call: map[string]any{"slug": "t/write", "text": anew("")}, text: anew},
	{slug: "mem/t/append", tool: "memory_append", call: map[string]any{"slug": "t/append", "text": "And more."}, text: more},
	{slug: "mem/t/edit", tool: "memory_edit", call: map[string]any{"slug": "t/edit", "old_str": "gate", "new_str": "door"}, text: door, needs: true},
	{slug: "mem/t/delete", tool: "memory_delete", call: map[string]any{"slug": "t/delete"}, gone: true, needs: true},
	{slug: "mem/t/rename", tool: "memory_rename", call: map[string]any{"slug": "t/rename", "to": "t/renamed"}, text: same, to: "mem/t/renamed", needs: true},
	{slug: "mem/t/link", tool: "memory_link", call: map[string]any{"from": "t/link", "to": "elsewhere", "relation": "supports"}, text: same, needs: true},
	{slug: "core", args: []string{"mem", "set", "core", anew("")}, text: anew},
}

// onto is the version that a write goes onto.
func (c lostCell) onto() which {
	if base := c.answer(); base == withheld || c.condition != blockedThere {
		return base
	}
	return c.shown() // the operator does not take the newest
}

// ends is the exit code of a change, 0 where it is written.
func (c lostCell) ends(w change) (code int, written bool) {
	switch base := c.onto(); {
	case base == withheld:
		return 6, false
	case w.past && c.shown() == nothing && c.condition != deletedThere:
		return 1, false // no relay has it: what expired took its history along
	case base == nothing && w.idle:
		return 0, false
	case base == nothing && w.needs:
		return 1, false
	case base == first && w.base:
		return 5, false
	}
	return 0, true
}

// TestBehindWrites has whatever writes meet relays in every condition. What is known goes
// there first, as it was signed, and the write supersedes it; what is known and not here
// is not written over.
func TestBehindWrites(t *testing.T) {
	t.Parallel()
	var slugs []string
	for _, w := range changes {
		if w.slug != "core" {
			slugs = append(slugs, w.slug)
		}
	}
	l := newLostTable(t, slugs...)
	l.cells(t, l.writes)
}

// writes does every change of a cell.
func (l *lostTable) writes(t *testing.T, c lostCell, m *machine) {
	for i, w := range changes {
		if !c.meets(i) {
			continue
		}
		before := l.versions(t, m, w.slug)
		got := m.changes(w)
		if wrong := l.wrote(t, c, m, w, before, got); wrong != "" {
			t.Errorf("%v: %v%s: %s\n%+v", c, w.args, w.tool, wrong, got)
		}
	}
}

// changes does a change.
func (m *machine) changes(w change) hooked {
	if w.tool != "" {
		return m.call(w.tool, w.call)
	}
	return m.run(strings.NewReader(w.stdin), m.filled(w.args)...)
}

// wrote compares what is there after a change.
func (l *lostTable) wrote(t *testing.T, c lostCell, m *machine, w change, before []*nostr.Event, got hooked) string {
	code, written := c.ends(w)
	after := l.versions(t, m, w.slug)
	known := m.newest[w.slug]
	was := map[which]string{newest: newestText(w.slug), first: firstText(w.slug)}[c.onto()]
	switch {
	case got.code != code:
		return fmt.Sprintf("exit code %d, want %d", got.code, code)
	case !written && !slices.EqualFunc(before, c.delivered(after, known), equalEvents):
		return fmt.Sprintf("nothing is to be written, and there are %d versions, before %d", len(after), len(before))
	case !written:
		return ""
	case len(after) == 0:
		return "it is not written"
	case c.behind() && c.condition != blockedThere && c.condition != noHistory && !slices.ContainsFunc(after, func(ev *nostr.Event) bool { return equalEvents(ev, known) }):
		return "what was known is not there as it was signed"
	case c.behind() && after[0].CreatedAt <= known.CreatedAt:
		return "it is older than what was known"
	case w.tool == "" && strings.Contains(got.stderr, "operator") != (c.condition == blockedThere && c.behind()):
		return "what the operator removed is said wrongly"
	}
	return l.holds(t, m, w, after[0], was)
}

// delivered are versions without what was delivered before a write that came to nothing.
func (c lostCell) delivered(after []*nostr.Event, known *nostr.Event) []*nostr.Event {
	if !c.behind() {
		return after
	}
	return slices.DeleteFunc(after, func(ev *nostr.Event) bool { return equalEvents(ev, known) })
}

// holds compares the text that is there.
func (l *lostTable) holds(t *testing.T, m *machine, w change, head *nostr.Event, was string) string {
	text := m.opens(head)
	if w.gone || w.to != "" {
		if text != nil {
			return "it is there"
		}
		if w.gone {
			return ""
		}
		moved := l.versions(t, m, w.to)
		if len(moved) == 0 {
			return "it is not where it should be"
		}
		text = m.opens(moved[0])
	}
	if text == nil || !strings.HasSuffix(strings.TrimSpace(*text), w.text(was)) {
		return "it has another text"
	}
	return ""
}

// opens returns the text of an event, nil of a tombstone.
func (m *machine) opens(ev *nostr.Event) *string {
	plain, err := relaytest.Open(m.key, relaytest.Owner().Pub, ev.Content)
	var body struct{ Value, Profile *string }
	if err != nil || json.Unmarshal([]byte(plain), &body) != nil {
		m.t.Fatalf("%v: %s", err, plain)
	}
	if body.Profile != nil {
		return body.Profile
	}
	return body.Value
}

func equalEvents(a, b *nostr.Event) bool {
	return bytes.Equal(wire.AppendEvent(nil, a), wire.AppendEvent(nil, b))
}

// versions are what the relay shows at a slug, head and history, the newest first.
func (l *lostTable) versions(t *testing.T, m *machine, slug string) (all []*nostr.Event) {
	t.Helper()
	author, d := m.key.Pub, m.address(slug)
	heads, err := l.relay.Post(m.key, "/query", fmt.Appendf(nil, `[{"kinds":[30174],"authors":[%q],"#d":[%q]}]`, author, d))
	past, pastErr := l.relay.Get(m.key, "/history?kind=30174&author="+author+"&d="+d)
	if err = cmp.Or(err, pastErr); err != nil {
		t.Fatal(err)
	}
	for _, r := range []relaytest.Response{heads, past} {
		var page []*nostr.Event
		if err := json.Unmarshal(r.Body, &page); err != nil || r.Status != http.StatusOK {
			t.Fatalf("%d %s %v", r.Status, r.Body, err)
		}
		all = append(all, page...)
	}
	slices.SortStableFunc(all, func(a, b *nostr.Event) int { return int(b.CreatedAt - a.CreatedAt) })
	return all
}
