package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// chainedRig is an agent's machine with a relay.
type chainedRig struct {
	*hookRig
	relay *relaytest.Child
}

func newChainedRig(t *testing.T) *chainedRig {
	t.Helper()
	relay := relaytest.Start(t, relaytest.Options{})
	return &chainedRig{newHookRig(t, relay.URL), relay}
}

// does runs engramctl, which must succeed.
func (r *chainedRig) does(stdin string, args ...string) string {
	r.t.Helper()
	got := r.run(strings.NewReader(stdin), args...)
	if got.code != 0 {
		r.t.Fatalf("%v: exit code %d: %s", args, got.code, got.stderr)
	}
	return got.stdout
}

// every returns all versions that the relay has, the oldest first.
func (r *chainedRig) every() []nipae.Engram {
	r.t.Helper()
	id, err := client.NewIdentity(relaytest.Owner().Secret)
	if err != nil {
		r.t.Fatal(err)
	}
	c := client.New(id, client.Options{Relays: []string{r.relay.URL}, Timeout: relaytest.Patience})
	defer c.Close()
	m, err := memory.AsOwner(c, relaytest.Agent().Pub)
	if err != nil {
		r.t.Fatal(err)
	}
	all, _, err := m.Every(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// checked fails unless every log that is stored is without a gap. It returns
// how many events each log has, and the slugs of the events in none.
func (r *chainedRig) checked() (sizes map[string]int64, unchained []nipae.Slug) {
	r.t.Helper()
	sizes = map[string]int64{}
	of := map[string]map[int64]nipae.Engram{}
	for _, e := range r.every() {
		l, ok := writerlog.Of(e)
		if !ok {
			unchained = append(unchained, e.Slug())
			continue
		}
		if of[l.W] == nil {
			of[l.W] = map[int64]nipae.Engram{}
		}
		if _, twice := of[l.W][l.N]; twice {
			r.t.Errorf("%s has number %d twice", l.W, l.N)
		}
		of[l.W][l.N] = e
	}
	for w, all := range of {
		var tree writerlog.Tree
		prev := ""
		for n := range int64(len(all)) {
			e, ok := all[n]
			if !ok {
				r.t.Fatalf("%s lacks number %d of %d", w, n, len(all))
			}
			l, _ := writerlog.Of(e)
			if l.Prev != prev || l.Root != tree.Root(n) {
				r.t.Errorf("%s %d (%s) does not follow", w, n, e.Slug())
			}
			id, _ := writerlog.ParseID(e.Event.ID)
			tree.Append(id)
			prev = e.Event.ID
		}
		sizes[w] = int64(len(all))
	}
	return sizes, unchained
}

// TestWhateverWritesIsChained: every command and every tool that writes or
// restores memory writes it into the machine's one log.
func TestWhateverWritesIsChained(t *testing.T) {
	r := newChainedRig(t)
	folder := filepath.Join(r.dir, "notes")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	r.write("notes/mem/f/one.md", "from a folder\n")
	r.write("old/a.md", "# Old\nfrom another tool\n")
	r.does("", "mem", "set", "core", "I am Sami.")
	for _, c := range [][]string{
		{"mem", "set", "a", "one"}, {"mem", "set", "a", "two"}, {"mem", "set", "b", "see [[mem/a]]"}, {"note", "seen today"},
		{"mem", "mv", "a", "c"}, {"mem", "pin", "c"}, {"mem", "unpin", "c"}, {"mem", "archive", "c"}, {"mem", "unarchive", "c"},
		{"snapshot", "create"}, {"mem", "rm", "b"}, {"mem", "restore", "c", "--at", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)},
		{"intend", "drink tea", "--due", "2030-01-01"}, {"import", folder}, {"import", "--from", "obsidian", filepath.Join(r.dir, "old"), "--yes"},
	} {
		r.does("", c...)
	}
	id := regexp.MustCompile(`[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}`).FindString(r.does("", "snapshot", "ls"))
	r.does("", "snapshot", "restore", "--id", id)
	c := startMCPIn(t, relaytest.Agent(), r.env, "--owner", relaytest.Owner().Pub, "--relay", r.relay.URL, "--tools", "memory,mind,files")
	c.call("memory_write", map[string]any{"slug": "m/one", "text": "by a tool"}, false)
	c.call("memory_note", map[string]any{"text": "noted by a tool"}, false)
	c.call("memory_edit", map[string]any{"slug": "m/one", "old_str": "by", "new_str": "with"}, false)
	c.call("memory_rename", map[string]any{"from": "m/one", "to": "m/two"}, false)
	c.call("memory_delete", map[string]any{"slug": "m/two"}, false)
	_ = c.session.Close()
	c.ended()

	sizes, unchained := r.checked()
	if len(sizes) != 1 {
		t.Errorf("the logs are %v, want one", sizes)
	}
	for _, n := range sizes {
		if n < 24 {
			t.Errorf("only %d events are in it", n)
		}
	}
	if len(unchained) > 0 {
		t.Errorf("in no log: %v", unchained)
	}
}

// TestUnchained: without a state no event is in a log, and a write replaces
// what it finds; with a state the log goes on.
func TestUnchained(t *testing.T) {
	r := newChainedRig(t)
	r.does("", "mem", "set", "a", "one")
	r.does("", "mem", "set", "a", "two", "--no-mirror")
	sizes, unchained := r.checked()
	if len(sizes) != 1 || len(unchained) != 1 {
		t.Errorf("logs %v, unchained %v", sizes, unchained)
	}
	r.does("", "mem", "set", "a", "three")
	if sizes, unchained = r.checked(); len(sizes) != 1 || len(unchained) != 1 {
		t.Errorf("logs %v, unchained %v", sizes, unchained)
	}
}

// TestNoState: where no state can be kept, memory is still written, in no log,
// and stderr says so.
func TestNoState(t *testing.T) {
	r := newChainedRig(t)
	r.does("", "mem", "set", "a", "one")
	r.write("full", "a file where a folder should be\n")
	r.env = append(r.env, "XDG_STATE_HOME="+filepath.Join(r.dir, "full"))
	got := r.run(strings.NewReader(""), "mem", "set", "b", "two")
	if got.code != 0 || !strings.Contains(got.stderr, "what is written is in no log: ") {
		t.Errorf("%+v", got)
	}
	if sizes, unchained := r.checked(); len(sizes) != 1 || len(unchained) != 1 || unchained[0] != "mem/b" {
		t.Errorf("logs %v, unchained %v", sizes, unchained)
	}
}

// TestCopiedState: a machine with a copy of another's home is another writer, and
// so is one whose state was restored from before its last writes.
func TestCopiedState(t *testing.T) {
	r := newChainedRig(t)
	r.does("", "mem", "set", "a", "one")
	backup, state := filepath.Join(r.dir, "backup"), filepath.Join(r.dir, "state")
	copyTree(t, state, backup)
	r.does("", "mem", "set", "b", "two")
	copyTree(t, backup, state)
	r.does("", "mem", "set", "c", "three")
	if sizes, _ := r.checked(); len(sizes) != 2 {
		t.Errorf("after a restored state the logs are %v", sizes)
	}
	other := newHookRig(t, r.relay.URL)
	copyTree(t, state, filepath.Join(other.dir, "state"))
	if got := other.run(strings.NewReader(""), "mem", "set", "d", "four"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	if sizes, _ := r.checked(); len(sizes) != 3 {
		t.Errorf("after a copied home the logs are %v", sizes)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.Walk(to, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	}); err != nil {
		t.Fatal(err)
	}
}
