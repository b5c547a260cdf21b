package state

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// TestFirstVersionOpens: a state of the first version keeps what it has, and has
// room for what is new.
func TestFirstVersionOpens(t *testing.T) {
	r := newRig(t)
	path, key, err := testPair.file(r.dir)
	must(t, err)
	place, err := placeOfNew(t, r, path)
	must(t, err)
	old, err := sealedfile.Open(t.Context(), path, key, sealedfile.Options{Application: application, Schema: schema[:1], Durable: true})
	must(t, err)
	must(t, old.Write(t.Context(), func(tx *sealedfile.Tx) error {
		if err := tx.Exec("INSERT INTO self VALUES (1, ?, ?)", place, []byte("0123456789abcdef")); err != nil {
			return err
		}
		if err := tx.Exec("INSERT INTO sessions VALUES ('s', 'codex', ?1, ?1)", testTime.UnixMilli()); err != nil {
			return err
		}
		return tx.Exec("INSERT INTO counters (slug, recalled, read, last) VALUES ('mem/a', 3, 1, 1)")
	}))
	must(t, old.Close())
	s := r.open(testPair)
	if id := writer(t, s); string(id[:]) != "0123456789abcdef" || len(r.warned) > 0 {
		t.Errorf("another writer %x, said %q", id, r.warned)
	}
	all, _, err := s.Counters.All(t.Context())
	must(t, err)
	if len(all) != 1 || all[0].Recalled != 3 {
		t.Errorf("counters %v", all)
	}
	must(t, s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "s", Harness: "claude"}}))
	sessions, err := s.Sessions.All(t.Context())
	must(t, err)
	if len(sessions) != 1 || sessions[0].Harness != "codex" || sessions[0].Prompts != 1 {
		t.Errorf("sessions %v", sessions)
	}
	must(t, s.Tallies.Add(t.Context(), Offered, "mem/a"))
}

// placeOfNew is the place of a file in the rig's folder, which it makes.
func placeOfNew(t *testing.T, r *rig, path string) ([]byte, error) {
	r.open(Pair{Agent: testPair.Owner, Owner: testPair.Owner, Conversation: testPair.Conversation})
	return placeOf(path, func() (string, error) { return r.host, nil })
}

func TestWhichSessionIsServed(t *testing.T) {
	begin := func(id, harness, process, folder string, alone, cleared bool) func(*testing.T, *State) {
		return func(t *testing.T, s *State) {
			must(t, s.Sessions.Begin(t.Context(), Session{ID: id, Harness: harness, Process: process, Folder: folder}, alone, cleared))
		}
	}
	end := func(id string) func(*testing.T, *State) {
		return func(t *testing.T, s *State) { must(t, s.Sessions.End(t.Context(), id)) }
	}
	for name, c := range map[string]struct {
		before []func(*testing.T, *State)
		server Server
		want   string // "" is none
	}{
		"nothing is known":        {nil, Server{Ancestors: []string{"p", "q"}}, ""},
		"named by the harness":    {nil, Server{Session: "a"}, "a"},
		"named, and cleared":      {[]func(*testing.T, *State){begin("a", "claude", "p", "/w", true, false), end("a"), begin("b", "claude", "p", "/w", true, true)}, Server{Session: "a"}, "b"},
		"cleared twice":           {[]func(*testing.T, *State){begin("a", "claude", "p", "/w", true, false), begin("b", "claude", "p", "/w", true, true), begin("c", "claude", "p", "/w", true, true)}, Server{Session: "a"}, "c"},
		"resumed what was before": {[]func(*testing.T, *State){begin("a", "claude", "p", "/w", true, false), begin("b", "claude", "p", "/w", true, true), begin("a", "claude", "p", "/w", true, false)}, Server{Session: "b"}, "a"},
		"the nearest process":     {[]func(*testing.T, *State){begin("a", "codex", "p", "/w", false, false), begin("b", "claude", "q", "/w", true, false)}, Server{Ancestors: []string{"x", "p", "q"}}, "a"},
		"several of one process":  {[]func(*testing.T, *State){begin("a", "cursor", "p", "/w", false, false), begin("b", "cursor", "p", "/w", false, false)}, Server{Ancestors: []string{"p"}, Folder: "/w"}, ""},
		"several, one of folder":  {[]func(*testing.T, *State){begin("a", "cursor", "p", "/w", false, false), begin("b", "cursor", "p", "/v", false, false)}, Server{Ancestors: []string{"p"}, Folder: "/v"}, "b"},
		"several, one has ended":  {[]func(*testing.T, *State){begin("a", "cursor", "p", "/w", false, false), begin("b", "cursor", "p", "/w", false, false), end("a")}, Server{Ancestors: []string{"p"}, Folder: "/w"}, "b"},
		"cleared where there are several": {[]func(*testing.T, *State){begin("a", "codex", "p", "/w", false, false), begin("b", "codex", "p", "/w", false, true)},
			Server{Ancestors: []string{"p"}, Folder: "/w"}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.open(testPair)
			for _, do := range c.before {
				r.now = r.now.Add(time.Second)
				do(t, s)
			}
			got, ok, err := s.Sessions.Serves(t.Context(), c.server)
			must(t, err)
			if got.ID != c.want || ok != (c.want != "") {
				t.Errorf("serves %q (%v), want %q", got.ID, ok, c.want)
			}
		})
	}
}

// TestAskedOnce: only a session that had its prompts, wrote nothing, and is served
// by a server that would know, is asked; once, however many ask.
func TestAskedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		prompts int
		served  Server
		write   bool
		end     bool
		want    int
	}{
		"asked":               {8, Server{Ancestors: []string{"p"}}, false, false, 1},
		"asked by name":       {8, Server{Session: "s"}, false, false, 1},
		"too few prompts":     {7, Server{Ancestors: []string{"p"}}, false, false, 0},
		"it wrote":            {8, Server{Ancestors: []string{"p"}}, true, false, 0},
		"nobody serves it":    {8, Server{Ancestors: []string{"q"}}, false, false, 0},
		"another is served":   {8, Server{Session: "t"}, false, false, 0},
		"it has ended":        {8, Server{Ancestors: []string{"p"}}, false, true, 0},
		"more prompts than 8": {20, Server{Ancestors: []string{"o", "p"}}, false, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRig(t).open(testPair)
			must(t, s.Sessions.Begin(t.Context(), Session{ID: "s", Harness: "claude", Process: "p", Folder: "/w"}, true, false))
			must(t, s.Sessions.Serve(t.Context(), c.served))
			for range c.prompts {
				must(t, s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "s", Harness: "claude"}}))
			}
			if c.write {
				must(t, s.Sessions.Wrote(t.Context(), "s", func(string) string { return "" }))
			}
			if c.end {
				must(t, s.Sessions.End(t.Context(), "s"))
			}
			var mu sync.Mutex
			var wg sync.WaitGroup
			asked := 0
			for range 8 {
				wg.Go(func() {
					yes, err := s.Sessions.Ask(context.Background(), "s", 8)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					if yes {
						asked++
					}
				})
			}
			wg.Wait()
			if asked != c.want {
				t.Errorf("asked %d times, want %d", asked, c.want)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	linked := func(folder, project string) bool {
		t.Helper()
		st, err := s.Folders.Standing(t.Context(), folder, folder, project, "")
		must(t, err)
		return st.Linked
	}
	must(t, s.Sessions.Begin(t.Context(), Session{ID: "s", Harness: "claude", Process: "p", Folder: "/w", Project: "atlas"}, true, false))
	must(t, s.Sessions.Wrote(t.Context(), "s", func(string) string { return "" }))
	if linked("/w", "atlas") {
		t.Error("a write elsewhere links the folder")
	}
	must(t, s.Sessions.Wrote(t.Context(), "s", func(p string) string { return map[string]string{"atlas": "/w"}[p] }))
	if !linked("/w", "atlas") || linked("/w", "other") || linked("/v", "atlas") {
		t.Error("a write to the project links this folder and project alone")
	}
	must(t, s.Folders.Link(t.Context(), "/v", "atlas", ""))
	all, err := s.Folders.All(t.Context())
	must(t, err)
	if want := []Folder{{"/v", "atlas", testTime}, {"/w", "atlas", testTime}}; !reflect.DeepEqual(all, want) {
		t.Errorf("folders %v", all)
	}
	for _, want := range []bool{true, false} {
		if was, err := s.Folders.Unlink(t.Context(), "/v", "/v"); was != want || err != nil {
			t.Errorf("unlinked: %v, %v", was, err)
		}
	}
	if err := s.Folders.Link(t.Context(), strings.Repeat("x", maxPath+1), "atlas", ""); err == nil {
		t.Error("a folder beyond the bound is taken")
	}
}

// TestStanding: who has a project's name, or had its old one, is known whether it is
// linked or not, and a clone is linked with its work trees.
func TestStanding(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	begin := func(id, folder, clone, name, old string) {
		t.Helper()
		must(t, s.Sessions.Begin(t.Context(), Session{ID: id, Harness: "claude", Folder: folder, Clone: clone, Project: name, Old: old}, false, false))
	}
	begin("a", "/a/tree", "/a", "x/a/b-1", "x-a-b")
	begin("b", "/b", "/b", "x/a-b/x-2", "x-a-b")
	must(t, s.Folders.Link(t.Context(), "/a", "x-a-b", ""))
	must(t, s.Folders.Link(t.Context(), "/c", "x/a/b-1", "x-a-b"))
	begin("a", "/a/tree", "/a", "x/a/b-1", "x-a-b") // linked by an earlier version, and seen by this one
	for _, tt := range []struct {
		folder, clone, name, old string
		want                     Standing
	}{
		{"/a/tree", "/a", "x/a/b-1", "x-a-b", Standing{Before: true, Others: []string{"/b", "/c"}}},
		{"/b", "/b", "x/a-b/x-2", "x-a-b", Standing{Others: []string{"/a", "/c"}}},
		{"/c", "/c", "x/a/b-1", "x-a-b", Standing{Linked: true, Others: []string{"/a", "/a/tree", "/b"}}},
		{"/d", "/d", "d-1", "", Standing{}},
	} {
		got, err := s.Folders.Standing(t.Context(), tt.folder, tt.clone, tt.name, tt.old)
		if !reflect.DeepEqual(got, tt.want) || err != nil {
			t.Errorf("%s is %+v, %v", tt.folder, got, err)
		}
	}
	begin("b", "/b", "/b", "x/other/y-3", "x-other-y") // it has another remote now
	if got, _ := s.Folders.Standing(t.Context(), "/a", "/a", "x/a/b-1", "x-a-b"); !reflect.DeepEqual(got.Others, []string{"/a/tree", "/c"}) {
		t.Errorf("others are %v", got.Others)
	}
	must(t, s.Folders.Link(t.Context(), "/a", "x/a/b-1", "x-a-b"))
	if got, _ := s.Folders.Standing(t.Context(), "/a", "/a", "x/a/b-1", "x-a-b"); !got.Linked || got.Before {
		t.Errorf("linked by both names: %+v", got)
	}
	must(t, s.Folders.Migrate(t.Context(), "x/a/b-1", []byte("one")))
	must(t, s.Folders.Migrate(t.Context(), "x/a/b-1", []byte("two")))
	if data, err := s.Folders.Migrated(t.Context(), "x/a/b-1"); string(data) != "two" || err != nil {
		t.Errorf("kept is %q, %v", data, err)
	}
	must(t, s.Folders.Migrate(t.Context(), "x/a/b-1", nil))
	if data, err := s.Folders.Migrated(t.Context(), "x/a/b-1"); data != nil || err != nil {
		t.Errorf("kept is %q, %v", data, err)
	}
	if err := s.Folders.Migrate(t.Context(), "x", make([]byte, MaxPlan+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a migration of any size is taken: %v", err)
	}
	n := 0
	must(t, s.write(t.Context(), func(tx *sealedfile.Tx) error {
		for i := range MaxFolders + 3 {
			if err := tx.Exec("INSERT INTO places VALUES (?, 'many', '', ?)", fmt.Sprint("/p", i), i); err != nil {
				return err
			}
		}
		place(tx, s.now(), Session{Clone: "/new", Project: "many"})
		n = int(tx.Int("SELECT count(*) FROM places"))
		return nil
	}))
	if got, _ := s.Folders.Standing(t.Context(), "", "", "many", ""); len(got.Others) != maxOthers || n != MaxFolders {
		t.Errorf("%d others are told, of %d", len(got.Others), n)
	}
}

func TestServersAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	r := newRig(t)
	s := r.open(testPair)
	for i := range MaxServers + 10 {
		r.now = r.now.Add(time.Second)
		must(t, s.Sessions.Serve(t.Context(), Server{Ancestors: []string{fmt.Sprint("p", i)}}))
	}
	var n int64
	must(t, s.read(t.Context(), func(tx *sealedfile.Tx) error {
		n = tx.Int("SELECT count(*) FROM servers")
		return nil
	}))
	if n != MaxServers {
		t.Errorf("%d servers are kept", n)
	}
	if err := s.Sessions.Serve(t.Context(), Server{Ancestors: make([]string, maxAncestors+1)}); err == nil {
		t.Error("any number of ancestors is taken")
	}
}

// TestRecallCountsWhatIsFresh: a memory counts as recalled when it is told, and
// not again in its session.
func TestRecallCountsWhatIsFresh(t *testing.T) {
	s := newRig(t).open(testPair)
	a, b := Shown{"mem/a", "1"}, Shown{"mem/b", "1"}
	for _, shown := range [][]Shown{{a}, {a, b, {"mem/c", "1"}}, {a, b}} {
		must(t, s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "s", Harness: "claude"}, Shown: shown, Recalled: []string{"mem/a", "mem/b"}}))
	}
	all, _, err := s.Counters.All(t.Context())
	must(t, err)
	if len(all) != 2 || all[0].Recalled != 1 || all[1].Recalled != 1 {
		t.Errorf("counted %v", all)
	}
}

// A session whose start was not noted is of the folder in which it is prompted,
// and one whose start was is of that folder for good.
func TestPromptSaysWhereASessionIs(t *testing.T) {
	s := newRig(t).open(testPair)
	folder := ""
	own := func(project string) string { return map[string]string{"atlas": folder}[project] }
	must(t, s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "late", Harness: "claude", Folder: "/atlas", Project: "atlas"}}))
	must(t, s.Sessions.Begin(t.Context(), Session{ID: "begun", Harness: "claude", Folder: "/home", Project: "home"}, false, false))
	must(t, s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "begun", Harness: "claude", Folder: "/elsewhere", Project: "atlas"}}))
	for _, id := range []string{"late", "begun"} {
		folder = "/" + map[string]string{"late": "atlas", "begun": "elsewhere"}[id]
		must(t, s.Sessions.Wrote(t.Context(), id, own))
	}
	all, err := s.Folders.All(t.Context())
	must(t, err)
	if len(all) != 1 || all[0].Path != "/atlas" || all[0].Project != "atlas" {
		t.Errorf("folders %v", all)
	}
	if err := s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "long", Harness: "claude", Folder: strings.Repeat("x", maxPath+1)}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a path that is too long: %v", err)
	}
}

// TestMuted: a session that began without a relay is told once that one answers, when
// one has done so since.
func TestMuted(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	for _, id := range []string{"a", "b"} {
		must(t, s.Sessions.Begin(t.Context(), Session{ID: id, Harness: "claude"}, false, false))
	}
	must(t, s.Sessions.Muted(t.Context(), "a"))
	for _, step := range []struct {
		id   string
		at   time.Time
		want bool
	}{{"b", testTime.Add(time.Minute), false}, {"a", testTime.Add(-time.Minute), false}, {"a", time.Time{}, false}, {"none", testTime.Add(time.Minute), false},
		{"a", testTime.Add(time.Minute), true}, {"a", testTime.Add(time.Hour), false}} {
		yes, err := s.Sessions.Heard(t.Context(), step.id, step.at)
		if yes != step.want || err != nil {
			t.Errorf("%+v: %v, %v", step, yes, err)
		}
		must(t, s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: step.id, Harness: "claude"}, Heard: yes}))
	}
}
