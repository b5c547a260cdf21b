package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

var (
	testPair = Pair{Agent: strings.Repeat("a", 64), Owner: strings.Repeat("b", 64), Conversation: [32]byte{7}}
	testTime = time.Date(2026, 11, 22, 6, 2, 0, 0, time.UTC)
)

// rig opens states of one pair, by a clock that the test moves.
type rig struct {
	t      testing.TB
	dir    string
	now    time.Time
	host   string
	warned []string
}

func newRig(t testing.TB) *rig {
	return &rig{t: t, dir: filepath.Join(t.TempDir(), "engramd"), now: testTime, host: "one"}
}

func (r *rig) open(p Pair) *State {
	r.t.Helper()
	s, err := Open(r.t.Context(), p, Options{Dir: r.dir, Now: func() time.Time { return r.now },
		Warn: func(line string) { r.warned = append(r.warned, line) }, Machine: func() (string, error) { return r.host, nil }})
	must(r.t, err)
	r.t.Cleanup(func() { s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writer(t testing.TB, s *State) [16]byte {
	t.Helper()
	id, err := s.Writer(t.Context())
	must(t, err)
	if id == [16]byte{} {
		t.Fatal("the writer has no id")
	}
	return id
}

func TestWriterStays(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	id := writer(t, s)
	must(t, s.Close())
	if again := writer(t, r.open(testPair)); again != id {
		t.Errorf("%x became %x", id, again)
	}
	reversed := Pair{Agent: testPair.Owner, Owner: testPair.Agent, Conversation: testPair.Conversation}
	if other := writer(t, r.open(reversed)); other == id {
		t.Error("two agents who own each other are one writer")
	}
	if len(r.warned) > 0 {
		t.Errorf("said %q", r.warned)
	}
}

// TestElsewhere: a state that is found in another place, or of which the bytes
// were changed, is set aside whole, and another writer begins.
func TestElsewhere(t *testing.T) {
	for name, move := range map[string]func(*testing.T, *rig, string){
		"another machine": func(_ *testing.T, r *rig, _ string) { r.host = "two" },
		"another folder": func(t *testing.T, r *rig, path string) {
			r.dir += "2"
			must(t, os.Rename(filepath.Dir(path), r.dir))
		},
		"damaged": func(t *testing.T, _ *rig, path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			data[50] ^= 1
			must(t, os.WriteFile(path, data, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.open(testPair)
			id := writer(t, s)
			must(t, s.Counters.Count(t.Context(), Read, "core"))
			must(t, s.Close())
			path := s.file.Path()
			move(t, r, path)
			before, err := os.ReadFile(filepath.Join(r.dir, filepath.Base(path)))
			must(t, err)
			s = r.open(testPair)
			if writer(t, s) == id {
				t.Error("it is the same writer")
			}
			if all, _, err := s.Counters.All(t.Context()); len(all) != 0 || err != nil {
				t.Errorf("it has counters %v, %v", all, err)
			}
			aside, _ := filepath.Glob(filepath.Join(r.dir, "*.aside-*[0-9]"))
			if len(aside) != 1 || len(r.warned) != 1 || strings.Contains(r.warned[0], "\n") || !strings.Contains(r.warned[0], aside[0]) {
				t.Fatalf("set aside %q, said %q", aside, r.warned)
			}
			if after, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(before, after) {
				t.Errorf("what was set aside is not what was there: %v", err)
			}
		})
	}
}

// TestDamagedWhileOpen: what a running process finds damaged is set aside too,
// and its write is not lost.
func TestDamagedWhileOpen(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Plans.Put(t.Context(), Plan{ID: "p", Data: bytes.Repeat([]byte("x"), 500_000), Expires: testTime.Add(time.Hour)}))
	must(t, s.Close())
	data, err := os.ReadFile(s.file.Path())
	must(t, err)
	data[len(data)/2] ^= 1 // a page of the plan, which opening does not read
	must(t, os.WriteFile(s.file.Path(), data, 0o600))
	s = r.open(testPair)
	if _, err := s.Plans.Get(t.Context(), "p"); !errors.Is(err, ErrNoPlan) {
		t.Errorf("the plan of a damaged state: %v", err)
	}
	must(t, s.Counters.Count(t.Context(), Read, "core"))
	if len(r.warned) != 1 {
		t.Errorf("said %q", r.warned)
	}
}

func TestLaterVersionIsRefused(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Close())
	_, key, err := testPair.file(r.dir)
	must(t, err)
	later, err := sealedfile.Open(t.Context(), s.file.Path(), key, sealedfile.Options{Application: application, Schema: append(append([]string{}, schema...), "CREATE TABLE more (n)")})
	must(t, err)
	must(t, later.Close())
	_, err = Open(t.Context(), testPair, Options{Dir: r.dir, Machine: func() (string, error) { return "one", nil }})
	if !errors.Is(err, sealedfile.ErrNewer) {
		t.Errorf("Open returned %v", err)
	}
}

func TestShowOnceInASession(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	show := func(session string, texts ...Shown) []Shown {
		t.Helper()
		fresh, err := s.Sessions.Show(t.Context(), session, "claude-code", texts)
		must(t, err)
		return fresh
	}
	a, b, changed := Shown{"mem/a", "1"}, Shown{"mem/b", "2"}, Shown{"mem/a", "3"}
	for _, step := range []struct {
		session     string
		show, fresh []Shown
	}{
		{"s1", []Shown{a, b}, []Shown{a, b}},
		{"s1", []Shown{a, changed}, []Shown{changed}},
		{"s2", []Shown{a}, []Shown{a}},
		{"s1", []Shown{b}, nil},
	} {
		if fresh := show(step.session, step.show...); !reflect.DeepEqual(fresh, step.fresh) {
			t.Errorf("%s shows %v of %v, not %v", step.session, fresh, step.show, step.fresh)
		}
	}
	if all, err := s.Sessions.Shown(t.Context(), "s1"); !reflect.DeepEqual(all, []Shown{a, b, changed}) || err != nil {
		t.Errorf("shown: %v, %v", all, err)
	}
	must(t, s.Sessions.Forget(t.Context(), "s1"))
	if fresh := show("s1", b); len(fresh) != 1 {
		t.Error("a session that forgot does not show it again")
	}
	if _, err := s.Sessions.Show(t.Context(), "s1", "x", []Shown{{strings.Repeat("m", 2000), "1"}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long slug: %v", err)
	}
	// The bound: what was shown first is forgotten first.
	var many []Shown
	for i := range MaxShown {
		many = append(many, Shown{fmt.Sprintf("mem/%d", i), "1"})
	}
	show("s2", many...)
	if all, _ := s.Sessions.Shown(t.Context(), "s2"); len(all) != MaxShown || all[0] != many[0] {
		t.Errorf("%d shown, from %v", len(all), all[0])
	}
}

func TestSessionsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Sessions.Seen(t.Context(), "old", "codex"))
	r.now = r.now.Add(SessionsLast + time.Hour)
	for i := range MaxSessions + 5 {
		r.now = r.now.Add(time.Second)
		must(t, s.Sessions.Seen(t.Context(), fmt.Sprint("s", i), "codex"))
	}
	_, err := s.Sessions.Show(t.Context(), "s7", "claude-code", []Shown{{"mem/a", "1"}})
	must(t, err)
	all, err := s.Sessions.All(t.Context())
	must(t, err)
	if len(all) != MaxSessions {
		t.Errorf("%d sessions", len(all))
	}
	begun := testTime.Add(SessionsLast + time.Hour + 8*time.Second)
	if all[0].ID != "s204" && all[0].ID != "s7" {
		t.Errorf("the newest is %v", all[0])
	}
	for _, one := range all {
		if one.ID == "s7" && (one.Harness != "codex" || !one.Started.Equal(begun) || !one.Seen.Equal(r.now)) || one.ID == "old" || one.ID == "s0" {
			t.Errorf("there is %v", one)
		}
	}
}

func TestCounters(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Counters.Count(t.Context(), Recalled, "mem/a", "mem/b"))
	r.now = r.now.Add(time.Minute)
	must(t, s.Counters.Count(t.Context(), Read, "mem/a"))
	want := []Counter{{"mem/a", 1, 1, r.now}, {"mem/b", 1, 0, testTime}}
	all, unflushed, err := s.Counters.All(t.Context())
	if !reflect.DeepEqual(all, want) || unflushed != 2 || err != nil {
		t.Fatalf("%v, %d, %v", all, unflushed, err)
	}
	// What is counted while relays are told stays to be told.
	must(t, s.Counters.Count(t.Context(), Read, "mem/b"))
	must(t, s.Counters.Flushed(t.Context(), all))
	if all, unflushed, err = s.Counters.All(t.Context()); unflushed != 1 || all[1].Read != 1 || err != nil {
		t.Errorf("%v, %d, %v", all, unflushed, err)
	}
}

func TestPlans(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	p := Plan{ID: "p1", Data: []byte("do"), Expires: testTime.Add(time.Hour)}
	must(t, s.Plans.Put(t.Context(), p))
	p.Data = []byte("do better")
	must(t, s.Plans.Put(t.Context(), p))
	if got, err := s.Plans.Get(t.Context(), "p1"); !reflect.DeepEqual(got, p) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if err := s.Plans.Put(t.Context(), Plan{ID: "big", Data: make([]byte, MaxPlan+1)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large plan: %v", err)
	}
	for i := range MaxPlans - 1 {
		must(t, s.Plans.Put(t.Context(), Plan{ID: fmt.Sprint("more", i), Expires: testTime.Add(2 * time.Hour)}))
	}
	if err := s.Plans.Put(t.Context(), Plan{ID: "last", Expires: testTime.Add(time.Hour)}); !errors.Is(err, ErrFull) {
		t.Errorf("one plan too many: %v", err)
	}
	var closed, refused int
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		wg.Go(func() {
			err := s.Plans.Close(context.Background(), "p1")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				closed++
			} else if errors.Is(err, ErrNoPlan) {
				refused++
			}
		})
	}
	wg.Wait()
	if closed != 1 || refused != 3 {
		t.Errorf("closed %d times, refused %d times", closed, refused)
	}
	r.now = testTime.Add(2 * time.Hour)
	if all, err := s.Plans.All(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("%d plans after all expired, %v", len(all), err)
	}
}

func TestDir(t *testing.T) {
	env := func(name string) string { return map[string]string{"XDG_STATE_HOME": "/var/state"}[name] }
	if got := Dir(env, "/home/u"); got != filepath.FromSlash("/var/state/engramd") && filepath.Separator == '/' {
		t.Errorf("Dir is %s", got)
	}
	if got := Dir(func(string) string { return "relative" }, "/home/u"); !strings.Contains(got, "u") {
		t.Errorf("Dir is %s", got)
	}
}

// TestNoPlace: without a home nothing is written beside whoever calls.
func TestNoPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := Dir(func(string) string { return "" }, "")
	if _, err := Open(t.Context(), testPair, Options{Dir: dir, Machine: func() (string, error) { return "one", nil }}); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("opened at %q: %v", dir, err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestOwnMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engramd", "machine-id")
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i], _ = ownMachine(path) })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || len(id) != 32 {
			t.Fatalf("ids are %q", ids)
		}
	}
	must(t, os.WriteFile(path, []byte("cut"), 0o600))
	if id, err := ownMachine(path); err != nil || id == ids[0] || len(id) != 32 {
		t.Errorf("after a damaged file: %q, %v", id, err)
	}
}

// TestOwnFolders: a mark is of one pair and one path, and a folder is known until
// too many others are.
func TestOwnFolders(t *testing.T) {
	ctx := t.Context()
	p := Pair{Agent: "a", Owner: "o", Conversation: [32]byte{1}}
	mark, err := p.Mark(OfFolder, "/home/ana/memory")
	if err != nil || !p.Marks(OfFolder, "/home/ana/memory", mark) || p.Marks(OfExport, "/home/ana/memory", mark) {
		t.Fatal(mark, err)
	}
	other, turned := p, p
	other.Conversation[0], turned.Agent, turned.Owner = 2, "o", "a"
	for _, x := range []struct {
		p            Pair
		folder, mark string
	}{
		{p, "/home/ana/memory2", mark}, {other, "/home/ana/memory", mark}, {turned, "/home/ana/memory", mark},
		{p, "/home/ana/memory", ""}, {p, "/home/ana/memory", mark[:len(mark)-2]}, {p, "/home/ana/memory", map[bool]string{true: "11", false: "00"}[mark[:2] == "00"] + mark[2:]}, {p, "/home/ana/memory", strings.Repeat("zz", len(mark)/2)},
	} {
		if x.p.Marks(OfFolder, x.folder, x.mark) {
			t.Errorf("%v takes the mark %q in %s", x.p, x.mark, x.folder)
		}
	}

	s := newRig(t).open(testPair)
	if mark, known, err := s.Folders.Owned(ctx, "/f"); mark != "" || known || err != nil {
		t.Error(mark, known, err)
	}
	for _, want := range []string{"one", "", "two"} {
		err := s.Folders.Own(ctx, "/f", want)
		if mark, known, e := s.Folders.Owned(ctx, "/f"); mark != want || !known || err != nil || e != nil {
			t.Errorf("%q: %q, %v, %v, %v", want, mark, known, err, e)
		}
	}
	for _, folder := range []string{"", strings.Repeat("x", maxPath+1)} {
		if err := s.Folders.Own(ctx, folder, "m"); !errors.Is(err, ErrTooLarge) {
			t.Errorf("a path of %d bytes: %v", len(folder), err)
		}
	}
}
