package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/platform/files"
	"engramd/nips/nipae"
)

// opened returns a session of the agent on this machine.
func opened(t *testing.T, cache string, relays ...string) *Session {
	t.Helper()
	return openedAt(t, cache, t.TempDir(), relays...)
}

// openedAt is opened with that state.
func openedAt(t *testing.T, cache, state string, relays ...string) *Session {
	t.Helper()
	id, err := client.NewIdentity(relaytest.Agent().Secret)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Identity: id, Client: client.Options{Relays: relays, Timeout: relaytest.Patience}, Owner: relaytest.Owner().Pub,
		Timeout: relaytest.Patience, Cache: func() (string, error) { return cache, nil }, State: state, Folder: t.TempDir(),
		Bound: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, relaytest.Patience)
		},
		Ancestors: func() ([]string, string) { return nil, "" }, Note: func(line string) { t.Error(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// held are the slugs of a copy.
func held(t *testing.T, kept *localcopy.Copy) (slugs []string) {
	t.Helper()
	if err := kept.Read(t.Context(), func(v *localcopy.View) error {
		for h := range v.Heads("") {
			if !h.Tombstone {
				slugs = append(slugs, h.Slug)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(slugs)
	return slices.DeleteFunc(slugs, func(s string) bool { return strings.HasPrefix(s, "mem/sys/") })
}

// TestWritesAreKept: what a session writes is in the local copy before the write is
// answered: in the one that is open, in the one on disk, and after all of many.
func TestWritesAreKept(t *testing.T) {
	relay, cache := relaytest.Start(t, relaytest.Options{}), t.TempDir()
	s := opened(t, cache, relay.URL)
	set := func(slug nipae.Slug) {
		t.Helper()
		if _, _, err := s.Memory.Set(t.Context(), slug, "text", memory.SetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set("mem/before") // there is no copy yet
	l, err := s.Copies.Open(t.Context(), s.o.Note)
	if err != nil {
		t.Fatal(err)
	}
	set("mem/open")
	if got := held(t, l.Copy); !slices.Equal(got, []string{"mem/open"}) {
		t.Errorf("open: %v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, cache, relay.URL)
	onDisk := func() []string {
		t.Helper()
		kept, err := s.Copies.OnDisk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		return held(t, kept)
	}
	set("mem/disk")
	if got := onDisk(); !slices.Equal(got, []string{"mem/disk", "mem/open"}) {
		t.Errorf("on disk: %v", got)
	}
	err = s.Copies.InBulk(t.Context(), func() error {
		all, err := s.Memory.Add(t.Context(), []memory.NewText{{Slug: "mem/bulk/a", Text: "a"}, {Slug: "mem/bulk/b", Text: "b"}})
		if got := onDisk(); len(all) != 2 || slices.Contains(got, "mem/bulk/a") {
			t.Errorf("before the end: %v", got)
		}
		return err
	})
	if got := onDisk(); err != nil || !slices.Equal(got, []string{"mem/bulk/a", "mem/bulk/b", "mem/disk", "mem/open"}) {
		t.Errorf("in bulk: %v, %v", got, err)
	}
	all, err := s.Memory.Add(t.Context(), []memory.NewText{{Slug: "mem/one", Text: "c"}, {Slug: "mem/two", Text: "d"}})
	if got := onDisk(); err != nil || len(all) != 2 || !slices.Contains(got, "mem/one") || !slices.Contains(got, "mem/two") {
		t.Errorf("added: %v, %v", got, err)
	}
	if _, _, err := s.Memory.Remove(t.Context(), "mem/disk", false); err != nil || slices.Contains(onDisk(), "mem/disk") {
		t.Errorf("removed: %v, %v", onDisk(), err)
	}
	if _, _, err := s.Memory.RemoveVersion(t.Context(), "mem/open", client.Hash("text")); err != nil || slices.Contains(onDisk(), "mem/open") {
		t.Errorf("a version removed: %v, %v", onDisk(), err)
	}
	versions, _, err := s.Memory.Log(t.Context(), "mem/disk")
	if err != nil || len(versions) != 2 {
		t.Fatalf("%+v, %v", versions, err)
	}
	if _, _, err := s.Memory.Restore(t.Context(), "mem/disk", memory.When{ID: versions[1].ID}, nil); err != nil || !slices.Contains(onDisk(), "mem/disk") {
		t.Errorf("restored: %v, %v", onDisk(), err)
	}
}

// TestEveryWriteIsKept: each method of memory.Memory that returns what it wrote is
// one of Memory itself.
func TestEveryWriteIsKept(t *testing.T) {
	reads := map[string]bool{"Onto": true} // it sends what this machine has
	for m := range reflect.TypeFor[*memory.Reader]().Methods() {
		reads[m.Name] = true
	}
	writes := map[string]bool{}
	for m := range reflect.TypeFor[*memory.Memory]().Methods() {
		for n := range m.Type.NumOut() {
			if says(m.Type.Out(n)) && !reads[m.Name] {
				writes[m.Name] = true
			}
		}
	}
	if len(writes) < 5 {
		t.Errorf("only %v write", writes)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, own := range regexp.MustCompile(`(?m)^func \(\w+ \*Memory\) (\w+)\(`).FindAllSubmatch(text, -1) {
			delete(writes, string(own[1]))
		}
	}
	if len(writes) > 0 {
		t.Errorf("%v go past the local copy", writes)
	}
}

// says reports whether a result tells what was written.
func says(result reflect.Type) bool {
	if result.Kind() == reflect.Slice {
		result = result.Elem()
	}
	if result.Kind() != reflect.Struct {
		return false
	}
	status := reflect.TypeFor[client.Status]()
	for f := range result.Fields() {
		if f.Type == status {
			return true
		}
	}
	return result == status
}

// TestCopyIsNotWaitedFor: a write that is interrupted does not wait for a local copy
// that another process is at.
func TestCopyIsNotWaitedFor(t *testing.T) {
	relay, cache := relaytest.Start(t, relaytest.Options{}), t.TempDir()
	s := opened(t, cache, relay.URL)
	l, err := s.Copies.Open(t.Context(), s.o.Note)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, cache, relay.URL)
	_, status, err := s.Memory.Set(t.Context(), "mem/a", "text", memory.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var locks []string
	if err := filepath.WalkDir(cache, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			locks = append(locks, path)
		}
		return err
	}); err != nil || len(locks) == 0 {
		t.Fatalf("%v, %v", locks, err)
	}
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := files.TryLock(f); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	s.Copies.wrote(ctx, status)
	if took := time.Since(began); took > OpenBudget/2 {
		t.Errorf("it took %v", took)
	}
}

// TestRecallWithoutModels: a model that fails leaves the words, and says why; a query
// that makes no sense is an error.
func TestRecallWithoutModels(t *testing.T) {
	source, err := answer.Load([]answer.Held{{Head: answer.Head{Slug: "mem/boats"}, Text: "Ana paints the boats in spring."},
		{Head: answer.Head{Slug: "mem/paint"}, Text: "The boats are painted blue."}}, answer.State{})
	if err != nil {
		t.Fatal(err)
	}
	fault := errors.New("down")
	r := Recall{Near: func(context.Context, ...string) (recall.Near, error) { return nil, fault },
		Rerank: func(context.Context, string, []string) ([]float64, error) { return nil, fault }, Copy: source,
		Read: func(ctx context.Context, do func(answer.View) (int, error)) error {
			return source.Read(ctx, func(v answer.View) error { _, err := do(v); return err })
		}}
	found, err := r.Answer(t.Context(), Question{Query: answer.Query{Text: "When are the boats painted?"}, Now: time.Now()})
	if err != nil || len(found.Hits) != 2 || !errors.Is(found.NoMeaning, fault) || !errors.Is(found.NoOrder, fault) {
		t.Errorf("%+v, %v", found, err)
	}
	var mistake *answer.Mistake
	if _, err := r.Answer(t.Context(), Question{Now: time.Now()}); !errors.As(err, &mistake) {
		t.Error(err)
	}
}
