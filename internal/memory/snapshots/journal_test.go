package snapshots

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

func journal() *Journal {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	return &Journal{Agent: agent.Pub, Tenant: "default", Bundle: "20261120T235100Z-0123456789abcdef", CreatedAt: time.Unix(1_700_000_000, 0).UTC(),
		Steps: []Step{
			{Base: strings.Repeat("ab", 32), Event: relaytest.Memory(agent, owner.Pub, "mem/a", "text", 1_700_000_001)},
			{Event: relaytest.Memory(agent, owner.Pub, "core", "text", 1_700_000_001), Core: true},
		}}
}

func TestJournal(t *testing.T) {
	dir := t.TempDir()
	if j, err := LoadJournal(dir); j != nil || err != nil {
		t.Fatalf("without one: %v %v", j, err)
	}
	want := journal()
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := LoadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Agent != want.Agent || got.Tenant != want.Tenant || got.Bundle != want.Bundle || !got.CreatedAt.Equal(want.CreatedAt) || len(got.Steps) != 2 {
		t.Errorf("%+v", got)
	}
	for i, s := range got.Steps {
		if w := want.Steps[i]; s.Base != w.Base || s.Core != w.Core || s.Event.ID != w.Event.ID || s.Event.Sig != w.Event.Sig {
			t.Errorf("step %d: %+v, want %+v", i, s, w)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, JournalName))
	if err != nil || bytes.Contains(text, []byte("mem/a")) {
		t.Errorf("the journal holds a slug, or cannot be read: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, JournalName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := errors.Join(DropJournal(dir), DropJournal(dir)); err != nil {
		t.Error(err)
	}
	if j, err := LoadJournal(dir); j != nil || err != nil {
		t.Errorf("after the end: %v %v", j, err)
	}
}

// TestJournalDamaged: every damaged journal is ErrJournal, and none is run.
func TestJournalDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := journal().Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, JournalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	foreign := journal()
	foreign.Steps[0].Event = relaytest.Memory(relaytest.Stranger(), relaytest.Owner().Pub, "mem/a", "text", 1_700_000_001)
	note := journal()
	note.Steps[0].Event = relaytest.Note(relaytest.Agent(), 1_700_000_001, "hello")
	for name, text := range map[string]string{
		"empty":        "",
		"no steps":     lines[0],
		"cut":          string(whole[:len(whole)-20]),
		"a step less":  lines[0] + lines[1],
		"a step twice": lines[0] + lines[1] + lines[1] + lines[2],
		"other format": strings.Replace(string(whole), journalFormat, "engramd-revert-v2", 1),
		"signature":    strings.Replace(string(whole), `"sig":"`, `"sig":"00`, 1),
		"text":         strings.Replace(string(whole), `"created_at":1700000001`, `"created_at":1700000002`, 1),
		"unknown":      strings.Replace(string(whole), `{"base"`, `{"more":1,"base"`, 1),
		"of another":   saved(t, foreign),
		"no engram":    saved(t, note),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := LoadJournal(dir); !errors.Is(err, ErrJournal) || j != nil {
			t.Errorf("%s: %v %v", name, j, err)
		}
	}
}

func saved(t testing.TB, j *Journal) string {
	t.Helper()
	dir := t.TempDir()
	if err := j.Save(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, JournalName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func FuzzJournal(f *testing.F) {
	whole := saved(f, journal())
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add("{}\n{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, maxLine)
		j, err := parseJournal(lines)
		if err != nil {
			if !errors.Is(err, ErrJournal) || j != nil {
				t.Fatalf("%v %v", j, err)
			}
			return
		}
		for _, s := range j.Steps {
			if s.Event.PubKey != j.Agent || s.Event.Kind != kindEngram {
				t.Fatalf("%+v", s)
			}
		}
	})
}
