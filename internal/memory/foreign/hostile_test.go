package foreign

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"engramd/nips/nipae"
)

func read(t *testing.T, source string, fsys fs.FS) Result {
	t.Helper()
	s, ok := ByName(source)
	if !ok {
		t.Fatalf("no source %s", source)
	}
	got := s.Read(fsys, Options{Place: "p"})
	check(t, s, got)
	return got
}

// TestLeft: what is not taken is named with a reason, and what is around it is
// taken.
func TestLeft(t *testing.T) {
	for _, c := range []struct {
		name, source, file, text string
		items                    int
		why                      string
	}{
		{"NUL", "obsidian", "a.md", "a\x00b", 1, "a NUL"},
		{"not UTF-8", "obsidian", "a.md", "a\xff", 1, "not UTF-8"},
		{"empty", "obsidian", "a.md", " \n", 1, "empty"},
		{"only front matter", "obsidian", "a.md", "---\ntitle: x\n---\n\n", 1, "nothing but front matter"},
		{"too large", "obsidian", "a.md", strings.Repeat("a\n", maxText/2+1), 1, "larger than"},
		{"a line too long", "obsidian", "a.md", strings.Repeat("a", maxText-1), 1, "a line of more than"},
		{"control characters", "obsidian", "a.md", strings.Repeat("\x01", 60_000), 1, "a line of more than"},
		{"deep JSON", "mem0", "a.json", strings.Repeat("[", 2_000_000), 0, "not an export"},
		{"deep JSON in a line", "mcp-memory", "a.jsonl", strings.Repeat(`{"a":`, 100_000), 0, "not a line"},
		{"deep JSON in letta", "letta", "a.af", strings.Repeat(`{"agents":[`, 500_000), 0, "neither an agent file"},
		{"a long line", "mcp-memory", "a.jsonl", strings.Repeat("a", maxLine+1), 0, "a line of more than"},
		{"a long value", "mcp-memory", "a.jsonl", strings.Repeat("{\"a\":\n\""+strings.Repeat("a", maxLine)+"\"}\n", 2), 0, "a value of more than"},
		{"many values that break off", "mem0", "a.jsonl", strings.Repeat("{\n}\n", 100_000) + "{", 0, "not a memory"},
		{"NUL in JSON", "mem0", "a.json", `[{"id":"1","memory":"a\u0000b"}]`, 0, "a NUL"},
		{"not UTF-8 in JSON", "letta", "a.json", "[{\"label\":\"a\",\"value\":\"\xff\"}]", 0, "not UTF-8"},
		{"JSON without memories", "mem0", "a.json", `{"a":1}`, 0, "no memories"},
		{"another JSON", "letta", "a.json", `{"a":1}`, 0, "no blocks of memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{c.file: {Data: []byte(c.text)}, "z.md": {Data: []byte("fine")}}
			got := read(t, c.source, fsys)
			taken := 0
			for _, item := range got.Items {
				if item.From == "z.md" {
					taken++
				}
			}
			if taken != c.items && c.source == "obsidian" {
				t.Errorf("z.md: %d items", taken)
			}
			for _, l := range got.Left {
				if strings.HasPrefix(l.Where, c.file) && strings.Contains(l.Why, c.why) {
					return
				}
			}
			t.Errorf("left %v, want %q", got.Left, c.why)
		})
	}
}

// TestNothingOutside: symbolic links are not followed, neither in the walk nor
// by an import, and devices are not opened.
func TestNothingOutside(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "secret.md"), "outside words")
	write(filepath.Join(inside, "CLAUDE.md"), "@link.md\n@../secret.md\n@dir/secret.md\n\ninside words\n")
	for link, to := range map[string]string{"link.md": "secret.md", "AGENTS.md": "secret.md", "dir": "."} {
		if err := os.Symlink(filepath.Join(outside, to), filepath.Join(inside, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, source := range []string{"agents-md", "obsidian"} {
		got := read(t, source, root.FS())
		if text := rendered(got); strings.Contains(text, "outside words") || !strings.Contains(text, "inside words") || !strings.Contains(text, "a symbolic link") {
			t.Errorf("%s: %s", source, text)
		}
	}
	got := read(t, "obsidian", fstest.MapFS{"pipe.md": {Mode: fs.ModeNamedPipe}, "a.md": {Data: []byte("a")}})
	if len(got.Items) != 1 || len(got.Left) != 1 || !strings.Contains(got.Left[0].Why, "neither a file nor a folder") {
		t.Errorf("a pipe: %+v", got)
	}
}

// TestImportsOfWhatIsNoFile: pipes and folders that a file imports are not opened.
func TestImportsOfWhatIsNoFile(t *testing.T) {
	got := read(t, "agents-md", unopened{fstest.MapFS{
		"CLAUDE.md": {Data: []byte("@pipe.md\n@docs/\nwords\n")}, "pipe.md": {Mode: fs.ModeNamedPipe}, "docs/a": {Data: []byte("a")}}})
	for _, name := range []string{"pipe.md", "docs"} {
		if !slices.Contains(got.Left, Left{name, "not a file"}) {
			t.Errorf("%s: left %v", name, got.Left)
		}
	}
	alone, _ := ByName("agents-md")
	left := alone.Read(fstest.MapFS{"CLAUDE.md": {Data: []byte("@b.md\nwords\n")}, "b.md": {Data: []byte("b")}}, Options{File: "CLAUDE.md"}).Left
	if len(left) != 1 || !strings.Contains(left[0].Why, "of one file") {
		t.Errorf("of one file: left %v", left)
	}
}

// unopened panics where what is no file is opened: Open of a pipe would not return.
type unopened struct{ fstest.MapFS }

func (u unopened) Open(name string) (fs.File, error) {
	if f := u.MapFS[name]; f != nil && !f.Mode.IsRegular() {
		panic("opens " + name)
	}
	return u.MapFS.Open(name)
}

// TestCodeStays: links in code are none; a bar in a table is written with a
// backslash.
func TestCodeStays(t *testing.T) {
	got := read(t, "obsidian", fstest.MapFS{"b.md": {Data: []byte("b")}, "a.md": {Data: []byte("Use `[[b]]` or [[b]], `[x](b.md)` or [x](b.md).\n\n| [[b\\|bee]] |\n\n```\n[[b]]\n```\n")}})
	want := "Use `[[b]]` or [[mem/imported/obsidian/b]], `[x](b.md)` or x [[mem/imported/obsidian/b]].\n\n| bee [[mem/imported/obsidian/b]] |\n\n```\n[[b]]\n```\n"
	if !strings.HasSuffix(got.Items[0].Text, "---\n"+want) {
		t.Errorf("%s", got.Items[0].Text)
	}
}

// TestHostileNames: names become slugs and lines that show nothing else than they
// are, and two that become one are both named.
func TestHostileNames(t *testing.T) {
	fsys := fstest.MapFS{}
	names := []string{"A b.md", "a-b.md", "日本.md", "中国.md", "-_-.md", "..md", "a\u202egnp.md", "x\x1b[2J.md", "nl\nnl.md", "_x.md", "[[mem/core]].md",
		strings.Repeat("long ", 50) + ".md", "core.md", "mem.md", strings.Repeat("d/", 20) + "deep.md", strings.Repeat("eeeeeeeeee/", 25) + "x.md", "a'\"`$(x).md", "ü.md", "u.md"}
	for _, n := range names {
		fsys[n] = &fstest.MapFile{Data: []byte("text of " + hashOf(n))}
	}
	got := read(t, "obsidian", fsys)
	if len(got.Items) != len(names)-1 {
		t.Errorf("%d items of %d; left %v", len(got.Items), len(names), got.Left)
	}
	if len(got.Left) != 1 || !strings.Contains(got.Left[0].Why, "A b.md") || got.Left[0].Where != "a-b.md" {
		t.Errorf("left %v", got.Left)
	}
	for _, item := range got.Items {
		if strings.ContainsAny(item.From, "\x1b\n\u202e") || !utf8.ValidString(item.From) {
			t.Errorf("from %q", item.From)
		}
	}
}

// TestSplit: a text that is too long becomes parts that are linked, cut before
// headings, with every line of it.
func TestSplit(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "## Part %d\n\n%s\n", i, strings.Repeat(fmt.Sprintf("\"line\" of %d\\\n", i), 400))
	}
	got := read(t, "obsidian", fstest.MapFS{"long.md": {Data: []byte(b.String())}, "short.md": {Data: []byte("see [[long]]")}})
	if len(got.Items) < 4 || len(got.Left) > 0 {
		t.Fatalf("%d items, left %v", len(got.Items), got.Left)
	}
	parts := got.Items[:len(got.Items)-1]
	all := ""
	for i, item := range parts {
		all += item.Text
		refs := nipae.References(item.Text)
		want := 2
		if i == 0 || i == len(parts)-1 {
			want = 1
		}
		if len(refs) != want {
			t.Errorf("%s refers to %v", item.Slug, refs)
		}
		if i > 0 && !strings.Contains(item.Text, "]].\n\n## Part ") {
			t.Errorf("%s does not begin with a heading", item.Slug)
		}
	}
	for i := range 40 {
		if n := strings.Count(all, fmt.Sprintf("\"line\" of %d\\\n", i)); n != 400 {
			t.Errorf("part %d: %d lines of 400", i, n)
		}
	}
}

// TestPartsCollide: a part never takes the slug of something else.
func TestPartsCollide(t *testing.T) {
	long := strings.Repeat("a line\n", 12_000)
	got := read(t, "obsidian", fstest.MapFS{"x.md": {Data: []byte(long)}, "x part 2.md": {Data: []byte("short")}, "y.md": {Data: []byte(long + "b")}})
	if len(got.Items) != 3 || len(got.Left) != 1 || !strings.Contains(got.Left[0].Why, "x part 2.md") {
		t.Errorf("%d items, left %v", len(got.Items), got.Left)
	}
}

// TestBounds: more than there may be is said, and is not read.
func TestBounds(t *testing.T) {
	var lines strings.Builder
	for i := range maxItems + 3 {
		fmt.Fprintf(&lines, "{\"id\":\"%d\",\"memory\":\"memory number %d\"}\n", i, i)
	}
	mem0, _ := ByName("mem0")
	got := mem0.Read(one("a.jsonl", lines.String()), Options{})
	if len(got.Items) != maxItems || len(got.Left) != 1 {
		t.Errorf("%d items, left %v", len(got.Items), got.Left)
	}
	deep := one(strings.Repeat("d/", maxDepth+2)+"a.md", "deep")
	if got := read(t, "obsidian", deep); len(got.Items) != 0 || len(got.Left) != 1 {
		t.Errorf("deep: %+v", got)
	}
	many := fstest.MapFS{}
	for i := range maxLefts + 50 {
		many[fmt.Sprintf("d%d/a.png", i)] = &fstest.MapFile{}
	}
	if got := read(t, "obsidian", many); len(got.Left) != maxLefts+1 || got.Left[maxLefts].Why != "and 50 more" {
		t.Errorf("%d left, the last %v", len(got.Left), got.Left[len(got.Left)-1])
	}
}

// TestManyLines: what has many short lines takes time by its size, not its square.
func TestManyLines(t *testing.T) {
	lines := strings.Repeat("a\n", maxText/2-10)
	for source, name := range map[string]string{"agents-md": "AGENTS.md", "openclaw": "MEMORY.md", "codex": "MEMORY.md", "hermes": "memories/MEMORY.md"} {
		if got := read(t, source, one(name, lines)); len(got.Items) < 10 {
			t.Errorf("%s: %d items, left %v", source, len(got.Items), got.Left)
		}
	}
	if got := read(t, "hermes", one("memories/MEMORY.md", strings.Repeat("a\n§\n", 200_000))); len(got.Items) != 1 {
		t.Errorf("%d items", len(got.Items))
	}
	entity := `{"type":"entity","name":"a","entityType":"b","observations":[` + strings.Repeat(`"o",`, 200_000) + "\"o\"]}\n"
	if got := read(t, "mcp-memory", one("a.jsonl", strings.Repeat(entity, 2))); len(got.Items) < 10 {
		t.Errorf("%d items, left %v", len(got.Items), got.Left)
	}
	if got := read(t, "agents-md", one("CLAUDE.md", strings.Repeat("@a/b ", 200_000))); len(got.Items)+len(got.Left) == 0 {
		t.Error("nothing of many imports")
	}
}

// TestHeadTooLong: front matter that does not fit stays in the text.
func TestHeadTooLong(t *testing.T) {
	text := "---\n" + strings.Repeat("key: value\n", 369) + "---\nwords\n"
	got := read(t, "obsidian", one("a.md", text))
	if len(got.Items) != 1 || !strings.HasSuffix(got.Items[0].Text, text) {
		t.Errorf("items %.300v left %v", got.Items, got.Left)
	}
}
