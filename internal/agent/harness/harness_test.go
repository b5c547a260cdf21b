package harness

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"engramd/internal/e2e/golden"
)

// files is a file system of absolute paths.
type files map[string]string

func (f files) ReadFile(name string) ([]byte, error) { return f.fs().ReadFile(key(name)) }

func (f files) Stat(name string) (fs.FileInfo, error) { return f.fs().Stat(key(name)) }

func (f files) fs() fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range f {
		m[key(name)] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	return m
}

func key(name string) string { return strings.TrimPrefix(filepath.ToSlash(name), "/") }

// with returns a copy with changes.
func (f files) with(t *testing.T, changes []Change) files {
	t.Helper()
	next := maps.Clone(f)
	for _, c := range changes {
		if was, there := f[c.Path]; there != c.Exists || was != string(c.Before) {
			t.Fatalf("the change of %s begins from %q, and the file is %q", c.Path, c.Before, was)
		}
		if c.After == nil {
			delete(next, c.Path)
		} else {
			next[c.Path] = string(c.After)
		}
	}
	return next
}

var (
	roots = Roots{Home: "/home/ana", Project: "/work/atlas"}
	entry = Entry{Binary: "/usr/bin/engramctl", Name: "engram-k3x9"}
)

func install(t *testing.T, h Harness, f files, r Roots, e Entry) (files, Plan) {
	t.Helper()
	plan, err := h.Install(f, r, e)
	if err != nil {
		t.Fatalf("%s: %v", h.Name, err)
	}
	return f.with(t, plan.Changes), plan
}

func uninstall(t *testing.T, h Harness, f files, r Roots, e Entry) (files, Plan) {
	t.Helper()
	plan, err := h.Remove(f, r, e)
	if err != nil {
		t.Fatalf("%s: %v", h.Name, err)
	}
	return f.with(t, plan.Changes), plan
}

func TestGolden(t *testing.T) {
	windows := roots
	windows.Windows = true
	cases := map[string]struct {
		r Roots
		e Entry
	}{
		"user":    {roots, entry},
		"project": {roots, Entry{Binary: "/opt/my tools/engramctl", Profile: "work", Tools: "files", Scope: Project}},
		"allowed": {roots, allowing},
		"windows": {windows, Entry{Binary: `C:\tools\engramctl.exe`}},
	}
	for name, c := range cases {
		for _, h := range All() {
			t.Run(h.Name+"/"+name, func(t *testing.T) {
				all, plan := install(t, h, files{}, c.r, c.e)
				var b strings.Builder
				for _, path := range slices.Sorted(maps.Keys(all)) {
					b.WriteString("==> " + path + "\n" + all[path])
				}
				for _, note := range plan.Notes {
					b.WriteString("==> note\n" + note + "\n")
				}
				golden.Check(t, filepath.Join("testdata", "golden", h.Name+"-"+name+".txt"), b.String())
			})
		}
	}
}

// foreignFiles are settings as people have them, for each file we write.
var foreignFiles = map[string][]string{
	"json": {
		"{}", "{}\n", "{ }", "{\n}\n", "{\r\n}\r\n", " \n", "\xef\xbb\xbf{}\n", "\n{\n}\n\n",
		"{\"a\":1}", "{\"a\": 1, \"b\": [1,2 , 3]}\n", "{\n\t\"a\": \"\\u00e9 ü\",\n\n\t\"b\": {}\n}", "{\n    \"a\": 1}\r\n",
		"{\"hooks\":{}}", "{\"mcpServers\": {}}\n", "{\"mcp\": { }}", "{\"hooks\": {\"SessionStart\": [], \"Stop\": [ ]}}",
		"{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"other hook session-start\"}]}\n    ]\n  },\n  \"version\": 1\n}\n",
		"{\"hooks\": {\"stop\": [{\"command\": \"x\"}], \"sessionStart\": []}, \"version\": 1}",
		"{\"version\": 1}", "{\"version\": 1, \"hooks\": {}}\n", "{\"hooks\": {}, \"version\": 1}\n",
		"{\"hooks\": {}, \"hooks\": {\"Stop\": []}}", "{\"mcpServers\": {\"other\": {\"command\": \"o\"}}, \"hooks\": {\"Stop\": [{\"hooks\": []}]}}",
		"{\"mcp\":{\"x\":{\"type\":\"remote\",\"url\":\"https://x.example\"}}}",
	},
	"comments": {
		"// mine\n{\n  // a\n  \"a\": 1, // one\n  /* b */ \"b\": 2 // two \n  // end\n}\n// after",
		"{ // nothing yet\n}", "{\"a\": 1,}", "{\n  \"a\": 1, // one  \r\n}\r\n", "{\"a\": 1 /* x */ , /* y */ }", "{\n  \"mcp\": { // servers\n  },\n}\n",
		"{\"a\": [1,2,], \"hooks\": {\"stop\": [ // none\n ],},}", "{\"mcpServers\": {\n  // soon\n}}", "{\"a\": 1 // x\r\r\n}",
	},
	"toml": {
		"\n", "model = \"o\"", "model = \"o\"\n", "# mine\r\nmodel = \"o\"\r\n", "[mcp_servers.other]\ncommand = \"x\" # y\n", "\xef\xbb\xbfmodel = 'o'\n", "\xef\xbb\xbf",
		"mcp_servers.other.command = \"x\"\n[features]\nhooks = true", "[[a]]\nb = { c = 1 }\n\n\n", "text = '''\n[mcp_servers.engram]\n'''\n", "[mcp_servers]\n",
		"# no newline at the end of a comment", "d = 1979-05-27T07:32:00Z\n",
	},
}

func documents(path string) []string {
	switch {
	case strings.HasSuffix(path, ".toml"):
		return foreignFiles["toml"]
	case strings.Contains(path, ".codex"):
		return foreignFiles["json"]
	}
	return append(slices.Clone(foreignFiles["json"]), foreignFiles["comments"]...)
}

// each calls do for every spliced settings file with every document.
func each(t *testing.T, do func(t *testing.T, h Harness, path, src string)) {
	for _, h := range All() {
		all, _ := install(t, h, files{}, roots, entry)
		for path := range all {
			if strings.Contains(path, "/plugins/") || strings.Contains(path, "/extensions/") {
				continue
			}
			for _, src := range append([]string{""}, documents(path)...) {
				t.Run(h.Name+"/"+filepath.Base(path), func(t *testing.T) { do(t, h, path, src) })
			}
		}
	}
}

func TestRemoveGivesBackTheBytes(t *testing.T) {
	each(t, func(t *testing.T, h Harness, path, src string) {
		before := files{path: src}
		with, plan := install(t, h, before, roots, entry)
		if len(plan.Edited) > 0 || with[path] == src {
			t.Fatalf("nothing was installed into %q: %v", src, plan.Edited)
		}
		keepsForeign(t, path, src, with[path])
		if _, again := install(t, h, with, roots, entry); len(again.Changes) > 0 {
			t.Errorf("a second install changes\n%s", Diff(again.Changes))
		}
		s, err := h.Check(with, roots, entry)
		if err != nil || !s.Installed || s.Outdated || len(s.Edited) > 0 || s.Binary != entry.Binary {
			t.Errorf("installed, and the check says %+v, %v", s, err)
		}
		newer := Entry{Binary: "/opt/new place/engramctl", Profile: "work"}
		if s, err = h.Check(with, roots, newer); err != nil || !s.Outdated {
			t.Errorf("another binary, and the check says %+v, %v", s, err)
		}
		with, _ = install(t, h, with, roots, newer)
		keepsForeign(t, path, src, with[path])
		if strings.Contains(with[path], entry.Binary) || strings.Count(with[path], "/opt/new place") == 0 {
			t.Errorf("an upgrade leaves\n%s", with[path])
		}
		if after, _ := uninstall(t, h, with, roots, Entry{}); !maps.Equal(after, before) {
			t.Errorf("before\n%q\nwith\n%s\nafter\n%q", src, with[path], after)
		}
	})
}

func TestNothingStaysOfAMissingFile(t *testing.T) {
	for _, h := range All() {
		for _, scope := range []Scope{User, Project} {
			e := entry
			e.Scope = scope
			with, _ := install(t, h, files{}, roots, e)
			if after, _ := uninstall(t, h, with, roots, Entry{Scope: scope}); len(after) > 0 {
				t.Errorf("%s leaves %v", h.Name, after)
			}
		}
	}
}

// keepsForeign compares what a document means apart from the program's entries.
func keepsForeign(t *testing.T, path, before, after string) {
	t.Helper()
	if was, is := meaning(t, path, before), meaning(t, path, after); !reflect.DeepEqual(was, is) {
		t.Errorf("%s means\n%v\nand meant\n%v", path, is, was)
	}
}

func meaning(t *testing.T, path, text string) any {
	t.Helper()
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	if strings.HasSuffix(path, ".toml") {
		d, err := parseTOML([]byte(text))
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		return d.others()
	}
	d, err := scan([]byte(text), false)
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if d.root == nil {
		return map[string]any{}
	}
	return d.mean(d.root)
}

// mean returns a value without the program's entries, and without empty lists
// and objects.
func (d *document) mean(n *node) any {
	switch n.kind {
	case '{':
		m := map[string]any{}
		for _, k := range n.kids {
			if v := d.mean(k.v); v != nil && !NameOK(k.name) && k.name != autoMemory && !(n == d.root && k.name == "version") {
				m[k.name] = v
			}
		}
		if len(m) == 0 && n != d.root {
			return nil
		}
		return m
	case '[':
		var all []any
		for _, k := range n.kids {
			if text := string(d.src[k.v.s:k.v.e]); !hookWords().MatchString(text) && !grantForm().MatchString(strings.Trim(text, `"`)) && !strings.Contains(text, "{\\\"behavior") {
				all = append(all, d.mean(k.v))
			}
		}
		if len(all) == 0 {
			return nil
		}
		return all
	}
	var v any
	_ = json.Unmarshal(d.src[n.s:n.e], &v)
	return v
}
