package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unopenable has a folder lie in the place of the state, which alone knows what was there:
// what relays show is told as a part, nothing is said not to be there, and nothing is
// written over.
func (l *lostTable) unopenable(t *testing.T, c lostCell, m *machine) {
	if c.knows != stateKnows || c.condition != olderShown && c.condition != noneShown {
		return
	}
	m.again()
	states, err := filepath.Glob(filepath.Join(m.dir, "state", "engramd", "*.state"))
	if err != nil || len(states) != 1 || os.RemoveAll(filepath.Dir(states[0])) != nil || os.MkdirAll(states[0], 0o700) != nil {
		t.Fatal(states, err)
	}
	code, text := 0, firstWord
	if c.shown() == nothing {
		code, text = 4, ""
	}
	for _, q := range []struct {
		args []string
		code int
		word string
	}{
		{[]string{"core"}, code, text},
		{[]string{"mem", "get", "notes"}, code, text},
		{[]string{"mem", "get", "core"}, code, text},
		{[]string{"mem", "ls"}, 0, ""},
		{[]string{"mem", "set", "notes", "Written over."}, 4, ""},
		{[]string{"mem", "set", "core", "Written over."}, 4, ""},
	} {
		before := slices.Concat(l.versions(t, m, "core"), l.versions(t, m, "mem/notes"))
		got := m.run(nil, q.args...)
		if wrong := ends(got, q.code, q.word); wrong != "" || !strings.Contains(got.stderr, "what this machine wrote cannot be read now") || strings.Contains(got.stderr, "not found") {
			t.Errorf("%v, its state cannot be opened: %v: %s\n%+v", c, q.args, wrong, got)
		}
		if after := slices.Concat(l.versions(t, m, "core"), l.versions(t, m, "mem/notes")); !slices.EqualFunc(before, after, equalEvents) {
			t.Errorf("%v, its state cannot be opened: %v writes", c, q.args)
		}
	}
}
