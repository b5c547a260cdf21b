package localcopy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/meaning"
	"engramd/internal/memory/recall"
)

// filesIn returns the contents of the files below a folder by name, without
// locks, which are empty.
func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		b, err := os.ReadFile(path)
		out[filepath.Base(path)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// theFile is the one file of a closed copy, beside its log.
func theFile(t *testing.T, dir string) string {
	t.Helper()
	all := filesIn(t, dir)
	maps.DeleteFunc(all, func(name string, _ []byte) bool {
		return strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm")
	})
	if len(all) != 1 {
		t.Fatalf("%d files, want one", len(all))
	}
	for name := range all {
		return filepath.Join(dir, name)
	}
	return ""
}

// filled is the folder of a closed copy that has some memories, the kept index
// among them, and what it shows.
func filled(t *testing.T, a *author) (dir, want string) {
	t.Helper()
	dir = t.TempDir()
	m := open(t, a.Pair, Options{Dir: dir})
	for i := range 60 {
		text := fmt.Sprintf("---\ntags: [tagged%d]\n---\nText number %d, %s", i, i, strings.Repeat("and more ", i*20))
		put(t, m, near, a.write(fmt.Sprintf("mem/some/place%d", i), text, int64(1000+i)))
	}
	put(t, m, near, a.remove("mem/some/place7", 5000), a.garbled("mem/other", 5000))
	if err := m.SetMark(context.Background(), near, Mark{Newest: 5000, Complete: true}); err != nil {
		t.Fatal(err)
	}
	want = shown(t, m)
	if err := errors.Join(m.file.Settle(t.Context()), m.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// TestDamage: whatever happens to the file, what is shown is what was written,
// or nothing, and then the file is aside and one line says so.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	a, b := newAuthor(t, "agent", "owner"), newAuthor(t, "agent", "another owner")
	dir, want := filled(t, a)
	path := theFile(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	otherDir, _ := filled(t, b)
	foreign, err := os.ReadFile(theFile(t, otherDir))
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		out := slices.Clone(whole)
		out[at] ^= 1
		return out
	}
	cases := map[string][]byte{
		"empty":                      {},
		"not a database":             []byte("this is a note, and no database"),
		"another pair's":             foreign,
		"plain database":             append([]byte("SQLite format 3\x00"), make([]byte, 8176)...),
		"cut in the middle":          whole[:len(whole)/2],
		"cut inside a page":          whole[:len(whole)/2+100],
		"last byte missing":          whole[:len(whole)-1],
		"zeroes":                     make([]byte, len(whole)),
		"first page of another's":    append(slices.Clone(foreign[:4096]), whole[4096:]...),
		"the rest of another's":      append(slices.Clone(whole[:4096]), foreign[min(4096, len(foreign)):]...),
		"two pages changed places":   slices.Concat(whole[:8192], whole[12288:16384], whole[8192:12288], whole[16384:]),
		"something behind the end":   append(slices.Clone(whole), whole[:5000]...),
		"first page twice":           slices.Concat(whole[:4096], whole),
		"a log that is none beside":  nil,
		"a log of another's beside":  nil,
		"an index that is none":      nil,
		"whole":                      whole,
		"a folder in place of a log": nil,
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	pages := rnd.Perm(len(whole) / 4096)
	if os.Getenv("ENGRAMD_SOAK") != "1" {
		pages = append(pages[:min(20, len(pages))], 0, 1)
	}
	for _, page := range pages {
		at := page*4096 + rnd.IntN(4096)
		cases[fmt.Sprintf("bit of byte %d of page %d", at%4096, page)] = flipped(at)
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, filepath.Base(path))
			beside := map[string][]byte{}
			switch {
			case strings.HasPrefix(name, "a log"):
				content, beside["-wal"] = whole, foreign
			case name == "an index that is none":
				content, beside["-shm"] = whole, foreign
			case name == "a folder in place of a log":
				content = whole
				if err := os.Mkdir(file+".lock", 0o700); err != nil {
					t.Fatal(err)
				}
				if _, err := Open(context.Background(), a.Pair, Options{Dir: dir}); err == nil {
					t.Error("it was opened without its lock")
				}
				return
			}
			beside[""] = content
			for suffix, b := range beside {
				if err := os.WriteFile(file+suffix, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var said lines
			m, err := Open(context.Background(), a.Pair, Options{Dir: dir, Warn: said.add})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			got := shown(t, m)
			if found := recalled(t, m, "text number 12"); got == want && len(found) == 0 {
				t.Error("nothing is found")
			}
			if err := use(m); err != nil {
				t.Error(err)
			}
			lost := shown(t, m) != want
			switch warned := said.take(); {
			case name == "whole" && (lost || len(warned) > 0):
				t.Errorf("%q, %q", got, warned)
			case got != want && got != "":
				t.Errorf("it shows %q", got)
			case lost && (len(warned) != 1 || strings.Contains(warned[0], "\n")) && name != "empty":
				t.Errorf("it begins anew and says %q", warned)
			case !lost && len(warned) > 0:
				t.Errorf("it says %q, and has everything", warned)
			}
			if lost {
				put(t, m, near, a.write("mem/new", "it goes on", 1))
				if got := shown(t, m); got != "mem/new = it goes on" {
					t.Errorf("then %q", got)
				}
			}
		})
	}
}

// use calls all that reads the file.
func use(m *Copy) error {
	ctx := context.Background()
	if _, err := m.Holds(ctx, near); err != nil {
		return err
	}
	if _, err := m.Mark(ctx, near); err != nil {
		return err
	}
	if _, err := m.Relays(ctx); err != nil {
		return err
	}
	_, err := m.Freshness(ctx, []string{near, far})
	return err
}

func recalled(t *testing.T, m *Copy, text string) (found []recall.Found) {
	t.Helper()
	err := m.Read(context.Background(), func(v *View) error {
		found = v.Index().Recall(recall.Query{Text: text}, recall.Recipe(), v.Text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRemovedWhileOpen: a file that is removed or moved under an open copy is
// not written any more; an empty one begins.
func TestRemovedWhileOpen(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	dir, want := filled(t, a)
	path := theFile(t, dir)
	var said lines
	m := open(t, a.Pair, Options{Dir: dir, Warn: said.add})
	if got := shown(t, m); got != want {
		t.Fatalf("%q", got)
	}
	if err := os.Rename(path, path+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, m); got != "" {
		t.Errorf("the file is gone, and it shows %q", got)
	}
	put(t, m, near, a.write("mem/a", "anew", 1))
	if got := shown(t, m); got != "mem/a = anew" {
		t.Errorf("%q", got)
	}
}

// TestDamageFoundByAnother: of two processes one finds the damage, and the other
// goes on with the file that is in its place then.
func TestDamageFoundByAnother(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	dir, want := filled(t, a)
	path := theFile(t, dir)
	var said, otherSaid lines
	m := open(t, a.Pair, Options{Dir: dir, Warn: said.add})
	if got := shown(t, m); got != want {
		t.Fatalf("%q", got)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 4096 + 7; at < len(content); at += 4096 {
		content[at] ^= 4
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	other := open(t, a.Pair, Options{Dir: dir, Warn: otherSaid.add})
	if got := shown(t, other); got != "" {
		t.Errorf("the other shows %q", got)
	}
	put(t, other, near, a.write("mem/a", "anew", 1))
	if got := shown(t, m); got != "mem/a = anew" {
		t.Errorf("the first shows %q", got)
	}
	if n := len(said.take()) + len(otherSaid.take()); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// TestAsideIsBounded: files that could not be used stay, but only the last two.
func TestAsideIsBounded(t *testing.T) {
	a, dir, c := newAuthor(t, "agent", "owner"), t.TempDir(), newClock()
	for i := range 6 {
		m := open(t, a.Pair, Options{Dir: dir, Now: c.now})
		put(t, m, near, a.write("mem/a", "text", int64(i+1)))
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		c.pass(1e9)
		for name, b := range filesIn(t, dir) {
			if !strings.Contains(name, "aside") {
				b[100] ^= 0x10
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	aside := 0
	for name := range filesIn(t, dir) {
		if strings.Contains(name, "aside") && !strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
			aside++
		}
	}
	if aside != keepAside {
		t.Errorf("%d files are aside, want the last %d", aside, keepAside)
	}
}

// TestNothingIsReadable: no text, slug, tag, word, key or relay is in the bytes
// of any file, while the copy is open and afterwards.
func TestNothingIsReadable(t *testing.T) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	m := open(t, a.Pair, Options{Dir: dir})
	text := "---\ntags: [tagword]\nwho: [mem/people/anabel]\n---\nThe sesquipedalian horse sleeps in Budapest. "
	ev := a.write("mem/people/zerubbabel", text+strings.Repeat("Plainword follows plainword. ", 400), 1000)
	put(t, m, near, ev, a.remove("mem/gone/away", 1000))
	hash := sha256.Sum256([]byte("x"))
	if err := m.PutVectors(context.Background(), "some-model-name", hex.EncodeToString(hash[:]), []meaning.Vector{slices.Repeat(meaning.Vector{11, 22, 33, 44}, 96)}); err != nil {
		t.Fatal(err)
	}
	shown(t, m)
	if err := keepIndex(context.Background(), m, 1); err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(ev.ID + ev.PubKey + ev.Tags.GetD())
	if err != nil {
		t.Fatal(err)
	}
	secrets := [][]byte{[]byte("sesquipedalian"), []byte("sesquipedalian"[:8]), []byte("zerubbabel"), []byte("tagword"), []byte("anabel"), []byte("Plainword"), []byte("plainword"),
		[]byte("mem/"), []byte("near.example"), []byte("some-model"), []byte(ev.ID), []byte(ev.PubKey), []byte(a.Owner), []byte(ev.Tags.GetD()), []byte("CREATE TABLE"), []byte("engr-rcl"), []byte("SQLite format"),
		raw[:32], raw[32:64], raw[64:], a.Conversation[:], []byte(hex.EncodeToString(a.Conversation[:])), {11, 22, 33, 44, 11, 22, 33, 44}}
	look := func(when string) {
		t.Helper()
		for name, b := range filesIn(t, dir) {
			for _, s := range secrets {
				if bytes.Contains(b, s) {
					t.Errorf("%s: %q is readable in %s", when, s, name[:min(len(name), 8)])
				}
				if bytes.Contains([]byte(name), s) {
					t.Errorf("%s: %q is in the name of a file", when, s)
				}
			}
		}
	}
	look("open")
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed")
	// The same would be found in what is not sealed.
	if !bytes.Contains([]byte(text), secrets[0]) {
		t.Error("the test looks for what is nowhere")
	}
}

// TestNoDiskLeavesNothing: not in the folder given, nor in the user's places.
func TestNoDiskLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, env := range []string{"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMPDIR", "LocalAppData"} {
		t.Setenv(env, dir)
	}
	t.Chdir(dir)
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{NoDisk: true, Dir: dir})
	put(t, m, near, a.write("mem/a", "text", 1))
	if err := m.SetMark(context.Background(), near, Mark{Complete: true}); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, m); got != "mem/a = text" {
		t.Errorf("%q", got)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestUserCacheFolder: without a folder it is engramd in the user's cache.
func TestUserCacheFolder(t *testing.T) {
	dir := t.TempDir()
	for _, env := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(env, dir)
	}
	want, err := Dir()
	if err != nil || !strings.HasPrefix(want, dir) || filepath.Base(want) != "engramd" {
		t.Fatalf("%q, %v", want, err)
	}
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{})
	put(t, m, near, a.write("mem/a", "text", 1))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	theFile(t, want)
}

// TestAnotherMachine: a copy opens with the pair's key, for either of the two,
// and with no other; a pair turned around is another pair.
func TestAnotherMachine(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	dir, want := filled(t, a)
	name := filepath.Base(theFile(t, dir))
	content := filesIn(t, dir)[name]

	owner := newAuthor(t, "owner", "agent") // derives the same key from the other side
	asOwner := Pair{Agent: a.Agent, Owner: a.Owner, Conversation: owner.Conversation}
	turned := owner.Pair
	stranger := newAuthor(t, "agent", "another owner").Pair
	wrongKey := a.Pair
	wrongKey.Conversation[0] ^= 1
	for who, p := range map[string]Pair{"agent": a.Pair, "owner": asOwner, "turned around": turned, "stranger": stranger, "wrong key": wrongKey} {
		keys, err := keysOf(p)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, keys.name+".mirror"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		var said lines
		m := open(t, p, Options{Dir: dir, Warn: said.add})
		got, warned := shown(t, m), said.take()
		if who == "agent" || who == "owner" {
			if got != want || len(warned) > 0 || keys.name+".mirror" != name {
				t.Errorf("%s: %q, %q", who, got, warned)
			}
		} else if got != "" || len(warned) != 1 || keys.name+".mirror" == name {
			t.Errorf("%s: %q, %q", who, got, warned)
		}
	}
}

// TestFull: a disk that takes no more is an error, and what is there is still
// told.
func TestFull(t *testing.T) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	m := open(t, a.Pair, Options{Dir: dir, MaxBytes: 256 << 10})
	var err error
	written := 0
	for ; err == nil && written < 1000; written++ {
		ev := a.write(fmt.Sprintf("mem/n%d", written), strings.Repeat("word ", 400), int64(1000+written))
		_, err = m.Put(context.Background(), near, []*nostr.Event{ev})
	}
	if err == nil {
		t.Fatal("everything was taken")
	}
	if n := strings.Count(shown(t, m), "\n") + 1; n != written-1 || n < 20 {
		t.Errorf("%d memories are shown, and %d were taken", n, written-1)
	}
	if got := recalled(t, m, "word"); len(got) == 0 {
		t.Error("nothing is found")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	// With room again it goes on.
	m = open(t, a.Pair, Options{Dir: dir})
	put(t, m, near, a.write("mem/more", "more", 5000))
	if n := strings.Count(shown(t, m), "\n") + 1; n != written {
		t.Errorf("then %d memories, want %d", n, written)
	}
}
