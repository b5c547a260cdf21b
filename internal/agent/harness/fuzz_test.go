package harness

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// forms are the documents that are spliced, each in its harness's form.
func forms(t testing.TB) map[string]form {
	t.Helper()
	all := map[string]form{}
	for _, h := range All() {
		targets, err := h.targets(files{}, roots, Entry{Binary: "/usr/bin/engramctl", Name: "engram-k3x9", Tools: "memory", Free: []string{"memory_read", "memory_write"}, Allow: On, NoBuiltin: On})
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets {
			all[target.path] = target.form
		}
	}
	return all
}

// roundTrip checks that a document without entries of ours is the same after
// Install and Remove, byte for byte, and means the same between them.
func roundTrip(t *testing.T, path string, f form, src []byte) {
	in, err := f.look(src)
	if err != nil || len(in.present) > 0 {
		return
	}
	out, err := f.install(src, true, false)
	if err != nil || len(out.edited) > 0 {
		return
	}
	if err := comesBack(f, src, true, out); err != nil {
		return // refused, and nothing is written
	}
	if in, err = f.look(out.text); err != nil || len(in.missing)+len(in.edited) > 0 {
		t.Fatalf("%s: %q becomes %q, of which %v is missing and %v edited, %v", path, src, out.text, in.missing, in.edited, err)
	}
	keepsForeign(t, path, string(src), string(out.text))
	again, err := f.install(out.text, true, false)
	if err != nil || string(again.text) != string(out.text) {
		t.Fatalf("%s: a second install makes %q of %q, %v", path, again.text, out.text, err)
	}
	back, err := f.remove(out.text, true, false)
	if err != nil || !back.exists || string(back.text) != string(src) {
		t.Fatalf("%s: %q becomes %q and comes back as %q (%v), %v", path, src, out.text, back.text, back.exists, err)
	}
}

func FuzzSplice(f *testing.F) {
	for _, all := range foreignFiles {
		for _, src := range all {
			f.Add([]byte(src))
		}
	}
	all := forms(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		for path, form := range all {
			if _, whole := form.(wholeFile); !whole {
				roundTrip(t, path, form, src)
			}
		}
	})
}

// TestSpliceGeneratedDocuments generates documents as people and programs write
// them, with the names that splicing looks for, and requires that few are
// refused.
func TestSpliceGeneratedDocuments(t *testing.T) {
	all := forms(t)
	for path, f := range all {
		form, isJSON := f.(jsonForm)
		if !isJSON {
			continue
		}
		refused := 0
		const documents = 150
		for seed := range uint64(documents) {
			w := &writer{Rand: rand.New(rand.NewPCG(seed, 0)), strict: form.strict}
			src := []byte(w.document())
			out, err := form.install(src, true, false)
			if err == nil {
				err = comesBack(form, src, true, out)
			}
			if err != nil && !strings.Contains(err.Error(), "is to be") {
				refused++
				t.Logf("%q: %v", src, err)
			}
			roundTrip(t, path, form, src)
		}
		if refused > 0 {
			t.Errorf("%s: %d of %d documents are refused", path, refused, documents)
		}
	}
}

// writer makes JSON, with comments and trailing commas unless strict.
type writer struct {
	*rand.Rand
	strict bool
	nl     string
}

func (w *writer) document() string {
	w.nl = []string{"\n", "\r\n"}[w.IntN(2)]
	start := []string{"", "\xef\xbb\xbf", w.nl}[w.IntN(3)]
	return start + w.value(3, []string{"hooks", "mcpServers", "mcp", "version", "a"}, true) + []string{"", w.nl, " "}[w.IntN(3)]
}

func (w *writer) blank() string {
	some := []string{"", "", " ", w.nl, w.nl + "  ", w.nl + "\t", w.nl + "    ", "  " + w.nl}
	if !w.strict {
		some = append(some, " // note"+w.nl, "/* x */", " // blank behind  "+w.nl+" ")
	}
	return some[w.IntN(len(some))]
}

func (w *writer) value(depth int, names []string, object bool) string {
	if depth == 0 {
		return []string{"1", "true", "null", `"x // y"`, `"\u00e9{"`, "{}", "[]", "-1.5e3"}[w.IntN(8)]
	}
	open, end := "{", "}"
	if !object {
		open, end = "[", "]"
	}
	var b strings.Builder
	b.WriteString(open)
	n := w.IntN(4)
	w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range min(n, len(names)) {
		b.WriteString(w.blank())
		if object {
			fmt.Fprintf(&b, "%q%s:%s", names[i], w.blank(), w.blank())
			b.WriteString(w.member(depth, names[i]))
		} else {
			b.WriteString(w.value(depth-1, []string{"hooks", "command", "timeout"}, true))
		}
		b.WriteString(w.blank())
		if i < min(n, len(names))-1 || !w.strict && w.IntN(4) == 0 {
			b.WriteString(",")
		}
	}
	b.WriteString(w.blank() + end)
	return b.String()
}

func (w *writer) member(depth int, name string) string {
	switch name {
	case "hooks":
		return w.value(depth-1, []string{"SessionStart", "Stop", "stop", "sessionStart", "Other"}, true)
	case "mcpServers", "mcp":
		return w.value(depth-1, []string{"other", "x"}, true)
	case "SessionStart", "Stop", "stop", "sessionStart":
		return w.value(depth-1, []string{"a", "b", "c"}, depth < 1)
	}
	return w.value(0, nil, true)
}

// A key that a harness has for its own memory or for permissions is written only where
// a person decides it, one for hooks as a whole never, nor anything that could be a secret.
func TestWritesNothingButItsOwn(t *testing.T) {
	banned := []string{"memory\":", "automemory", "disable", "permission", "\"env\"", "nsec", "ncryptsec", "password", "secret", "claude.md", "agents.md", "memory.md", "[features]", "memories"}
	for _, h := range All() {
		for _, scope := range []Scope{User, Project} {
			e := Entry{Binary: "/usr/bin/engramctl", Profile: "work", Scope: scope}
			all, _ := install(t, h, files{}, roots, e)
			for path, text := range all {
				text = strings.ToLower(strings.NewReplacer(CursorRule, "", codexPasses, "").Replace(text)) // names of variables are no secret
				for _, word := range banned {
					if strings.Contains(text, word) {
						t.Errorf("%s: %s holds %q", h.Name, path, word)
					}
				}
			}
			for path, f := range forms(t) {
				if j, isJSON := f.(jsonForm); isJSON {
					for _, p := range j.parts {
						if !p.optional && !reflect.DeepEqual(p.path, []string{"mcp"}) && !reflect.DeepEqual(p.path, []string{"mcpServers"}) && !slices.Contains([]string{"mcp servers", "plugins entries"}, strings.Join(p.path, " ")) && p.path[0] != "hooks" {
							t.Errorf("%s: %v is written", path, p.path)
						}
					}
				}
			}
		}
	}
}
