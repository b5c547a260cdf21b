package folder

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// fakeMemory is a memory that compares bases, as relays do.
type fakeMemory struct {
	mu    sync.Mutex
	texts map[nipae.Slug]string
	gone  map[nipae.Slug]bool
	every map[string]bool // texts that were ever there
}

func newMemory(texts map[nipae.Slug]string) *fakeMemory {
	m := &fakeMemory{texts: map[nipae.Slug]string{}, gone: map[nipae.Slug]bool{}, every: map[string]bool{}}
	for s, text := range texts {
		m.put(s, text)
	}
	return m
}

func (m *fakeMemory) put(s nipae.Slug, text string) {
	m.texts[s], m.every[text] = text, true
	delete(m.gone, s)
}

func (m *fakeMemory) conflict(s nipae.Slug, base string) error {
	text, ok := m.texts[s]
	if ok && base == client.Hash(text) || !ok && base == memory.BaseNone {
		return nil
	}
	if !ok {
		return &client.ConflictError{}
	}
	return &client.ConflictError{Theirs: &client.Entry{Slug: s, Text: text, Hash: client.Hash(text)}}
}

func (m *fakeMemory) Set(_ context.Context, s nipae.Slug, text, base string) (client.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.conflict(s, base); err != nil {
		return client.Entry{}, err
	}
	m.put(s, text)
	return client.Entry{Slug: s, Text: text, Hash: client.Hash(text)}, nil
}

func (m *fakeMemory) Remove(_ context.Context, s nipae.Slug, base string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.conflict(s, base); err != nil {
		return err
	}
	delete(m.texts, s)
	m.gone[s] = true
	return nil
}

func (m *fakeMemory) units() (out []Unit) {
	for s, text := range m.texts {
		out = append(out, Unit{Slug: s, Text: text, Hash: client.Hash(text)})
	}
	for s := range m.gone {
		out = append(out, Unit{Slug: s, Removed: true})
	}
	return out
}

// rig is a folder and a memory.
type rig struct {
	t   *testing.T
	dir string
	mem *fakeMemory
	// before is the hook of Run.
	before func(string) error
	deaf   bool // answers of the memory are lost
}

func newRig(t *testing.T, texts map[nipae.Slug]string) *rig {
	return &rig{t: t, dir: t.TempDir(), mem: newMemory(texts)}
}

func (r *rig) write(p, text string) {
	r.t.Helper()
	full := filepath.Join(r.dir, p)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(p string) string {
	text, err := os.ReadFile(filepath.Join(r.dir, p))
	if err != nil {
		return ""
	}
	return string(text)
}

// run makes one run and returns the outcome of each slug.
func (r *rig) run(how How) (map[nipae.Slug]What, error) {
	r.t.Helper()
	tree, err := Open(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tree.Close()
	state, err := tree.LoadState()
	if err != nil {
		r.t.Fatal(err)
	}
	if state == nil {
		state = NewState("a", "o")
	}
	l, err := tree.Scan()
	if err != nil {
		return nil, err
	}
	steps, err := Plan(how, Sides{Tree: l, Units: r.mem.units(), State: state})
	if err != nil {
		return nil, err
	}
	did := map[nipae.Slug]What{}
	before := r.before
	if before != nil { // several workers call it, and it may write to the memory
		before = func(what string) error {
			r.mem.mu.Lock()
			defer r.mem.mu.Unlock()
			return r.before(what)
		}
	}
	var mem Memory = r.mem
	if r.deaf {
		mem = deafMemory{r.mem}
	}
	run := Run{Tree: tree, State: state, Memory: mem, before: before, Did: func(s Step) { did[s.Slug] = s.What }}
	return did, run.Do(r.t.Context(), steps)
}

func (r *rig) want(how How, want map[nipae.Slug]What) {
	r.t.Helper()
	got, err := r.run(how)
	if err != nil {
		r.t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		r.t.Fatalf("did %v, want %v", got, want)
	}
}
