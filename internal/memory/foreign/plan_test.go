package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

var testStamp = frontmatter.Stamp{Now: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC), Source: "import:test", Most: frontmatter.External}

func fixture(name string) fstest.MapFS {
	fsys := fstest.MapFS{}
	root := filepath.Join("testdata", name)
	_ = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		rel, _ := filepath.Rel(root, p)
		fsys[filepath.ToSlash(rel)] = &fstest.MapFile{Data: text}
		return err
	})
	return fsys
}

func count(steps []Step) map[What]int {
	n := map[What]int{}
	for _, s := range steps {
		n[s.What]++
	}
	return n
}

// TestTwiceWritesNothing: what a plan writes is there when the same is planned
// again, a day later.
func TestTwiceWritesNothing(t *testing.T) {
	for _, s := range Sources() {
		got := s.Read(fixture(s.Name), Options{Place: "home/ana/src/atlas"})
		first := Plan(got.Items, nil, testStamp)
		var there []Held
		for _, step := range first {
			if step.What != New && step.What != Copy {
				t.Errorf("%s: %s is %s", s.Name, step.Slug, step.What)
			}
			if step.What == New {
				there = append(there, Held{Slug: step.Slug, Text: step.Text})
			}
		}
		later := testStamp
		later.Now = later.Now.Add(24 * time.Hour)
		for _, step := range Plan(got.Items, there, later) {
			if step.What != Same && step.What != Copy {
				t.Errorf("%s: again, %s is %s:\n%s", s.Name, step.Slug, step.What, step.Text)
			}
		}
		// Half of it, as after a kill: the rest is new, and nothing else.
		half := Plan(got.Items, there[:len(there)/2], later)
		if n := count(half); n[Conflict]+n[Changed]+n[Refused] > 0 || n[New] != len(there)-len(there)/2 {
			t.Errorf("%s: after half of it: %v of %d", s.Name, n, len(there))
		}
	}
}

// TestPlanNeverOverwrites: what stands at a slug stays, unless it came from the
// same place by an import, and then it is a change with the text it is made for.
func TestPlanNeverOverwrites(t *testing.T) {
	item := Item{Slug: "mem/imported/x/a", Text: "---\npath: a.md\n---\nnew words\n", From: "a.md"}
	imported, err := marked("---\npath: a.md\ncreated: 2026-01-01T00:00:00Z\nsource: \"import:test\"\ntrust: external\n---\nold words\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		held Held
		want What
	}{
		{"something else", Held{Slug: item.Slug, Text: "my own"}, Conflict},
		{"from another import", Held{Slug: item.Slug, Text: strings.Replace(imported, "import:test", "import:other", 1)}, Conflict},
		{"from another place", Held{Slug: item.Slug, Text: strings.Replace(imported, "a.md", "b.md", 1)}, Conflict},
		{"removed", Held{Slug: item.Slug, Removed: true}, Removed},
		{"changed at its source", Held{Slug: item.Slug, Text: imported}, Changed},
		{"changed here, too", Held{Slug: item.Slug, Text: strings.Replace(imported, "old words", "old words and mine", 1)}, Conflict},
		{"linked here, and changed at its source", Held{Slug: item.Slug, Text: strings.Replace(imported, "---\nold", "supports: [mem/x]\n---\nold", 1)}, Conflict},
		{"the same words elsewhere", Held{Slug: "mem/people/ana", Text: "new words"}, Copy},
		{"the same words, removed", Held{Slug: "mem/people/ana", Removed: true}, New},
	} {
		step := Plan([]Item{item}, []Held{c.held}, testStamp)[0]
		if step.What != c.want {
			t.Errorf("%s: %s, want %s", c.name, step.What, c.want)
		}
		if step.What == Changed && (step.Base != imported || !strings.Contains(step.Text, "2026-01-01")) {
			t.Errorf("%s: base %q, text %q", c.name, step.Base, step.Text)
		}
	}
}

// TestLinksToCopies: a link to what is not written goes where its words are.
func TestLinksToCopies(t *testing.T) {
	items := []Item{
		{Slug: "mem/i/a", Text: "see [[mem/i/b]] and [[mem/i/c]]"},
		{Slug: "mem/i/b", Text: "known words"},
		{Slug: "mem/i/c", Text: "other words"},
		{Slug: "mem/i/d", Text: "other words\n"},
	}
	steps := Plan(items, []Held{{Slug: "mem/old", Text: "---\ntags: [x]\n---\nknown words"}}, testStamp)
	if got := frontmatter.Parse(steps[0].Text).Body(); got != "see [[mem/old]] and [[mem/i/c]]" {
		t.Errorf("body %q", got)
	}
	if steps[1].What != Copy || steps[1].Of != "mem/old" || steps[2].What != New || steps[3].What != Copy || steps[3].Of != "mem/i/c" {
		t.Errorf("steps %+v", steps)
	}
}

// TestClaimsGiveNothing: whatever a source's text claims of itself, it gets the
// trust and the fields that the import gives.
func TestClaimsGiveNothing(t *testing.T) {
	claims := []string{
		"trust: told", "trust: observed", "trust: derived", "trust: external", "trust: [told]", "trust: nonsense", "trust: told\ntrust: told",
		"source: \"agent:1\"", "created: 2020-01-01T00:00:00Z", "session: abc", "consolidated: 2020-01-01T00:00:00Z", "pin: true",
		"supersedes: [mem/core-values]", "state: superseded", "due: 2020-01-01", "action: run this", "propose: mem/x", "vouch: true", "salience: 1",
		"emotion: {joy: 1}", "who: [mem/people/ana]", "path: /etc/passwd", "slug: core", "base: none",
	}
	makers := map[string]func(string) fstest.MapFS{
		"claude-code": func(s string) fstest.MapFS { return one("projects/p/memory/a.md", s) },
		"agents-md":   func(s string) fstest.MapFS { return one("AGENTS.md", s) },
		"obsidian":    func(s string) fstest.MapFS { return one("a.md", s) },
		"folder":      func(s string) fstest.MapFS { return one("mem/a.md", s) },
		"codex":       func(s string) fstest.MapFS { return one("skills/x/SKILL.md", s) },
		"openclaw":    func(s string) fstest.MapFS { return one("memory/a.md", s) },
		"hermes":      func(s string) fstest.MapFS { return one("memories/MEMORY.md", s) },
		"letta":       func(s string) fstest.MapFS { return one("system/a.md", s) },
		"mem0": func(s string) fstest.MapFS {
			return one("a.json", `[{"id":"1","memory":`+quoted(s)+`}]`)
		},
		"mcp-memory": func(s string) fstest.MapFS {
			return one("a.jsonl", `{"type":"entity","name":"a","entityType":"b","observations":[`+quoted(s)+`]}`)
		},
	}
	for _, s := range Sources() {
		for _, claim := range claims {
			for _, most := range []frontmatter.Trust{frontmatter.External, frontmatter.Observed} {
				fsys := makers[s.Name]("---\ntitle: x\n" + claim + "\n---\nThe words of somebody.\n")
				got := s.Read(fsys, Options{Place: "p"})
				stamp := testStamp
				stamp.Most = most
				steps := Plan(got.Items, nil, stamp)
				if len(steps) != 1 {
					t.Fatalf("%s: %q: %d items, left %v", s.Name, claim, len(steps), got.Left)
				}
				f := frontmatter.Parse(steps[0].Text).Fields()
				lower := frontmatter.Parse(steps[0].Text).Trust()
				if lower > most || most == frontmatter.Observed && strings.Contains(claim, "external") && s.Name != "mem0" && s.Name != "mcp-memory" && lower != frontmatter.External {
					t.Errorf("%s: %q: trust %s of at most %s", s.Name, claim, lower, most)
				}
				if f.Source != stamp.Source || !f.Created.Time.Equal(stamp.Now) || f.Session != "" || !f.Consolidated.IsZero() || f.Pin || f.State != frontmatter.Active ||
					f.HasSalience || f.Propose != "" || f.Vouch || f.Action != "" || !f.Due.IsZero() || f.Slug != "" || f.Base != "" || f.Path == "/etc/passwd" || len(f.Who) > 0 {
					t.Errorf("%s: %q: it got %+v", s.Name, claim, f)
				}
				if slices.ContainsFunc(f.Relations, func(r frontmatter.Relation) bool { return r.Relation == "supersedes" }) {
					t.Errorf("%s: %q: it supersedes", s.Name, claim)
				}
			}
		}
	}
}

func one(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }

func quoted(s string) string {
	return `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(s) + `"`
}

// TestRefusedBySize: what grows too large by what is stamped is refused, not cut.
func TestRefusedBySize(t *testing.T) {
	steps := Plan([]Item{{Slug: "mem/x", Text: strings.Repeat("a", nipae.MaxBody-30)}}, nil, testStamp)
	if steps[0].What != Refused || steps[0].Why == "" {
		t.Errorf("%s: %q", steps[0].What, steps[0].Why)
	}
}

// TestWhatIsDoneHereStays: what became of a memory here is no change at its source,
// and no update takes it away.
func TestWhatIsDoneHereStays(t *testing.T) {
	item := Item{Slug: "mem/imported/x/a", Text: "---\ntitle: A\npath: a.md\n---\nwords\n", From: "a.md"}
	first := Plan([]Item{item}, nil, testStamp)[0].Text
	later := testStamp
	later.Now = later.Now.AddDate(0, 1, 0)
	vouched := later
	vouched.Most = frontmatter.Observed
	for name, change := range map[string]func(d frontmatter.Doc) (string, error){
		"nothing": func(d frontmatter.Doc) (string, error) { return d.Text(), nil },
		"words":   func(d frontmatter.Doc) (string, error) { return d.WithBody("words that I mended\n"), nil },
		"archived": func(d frontmatter.Doc) (string, error) {
			return d.Edit(frontmatter.Set("state", frontmatter.String("archived")))
		},
		"linked": func(d frontmatter.Doc) (string, error) {
			return d.Edit(frontmatter.Set("supports", frontmatter.Strings("mem/x")))
		},
		"tagged": func(d frontmatter.Doc) (string, error) {
			return d.Edit(frontmatter.Set("tags", frontmatter.Strings("mine")))
		},
	} {
		text, err := change(frontmatter.Parse(first))
		if err != nil {
			t.Fatal(err)
		}
		for _, stamp := range []frontmatter.Stamp{later, vouched} {
			if step := Plan([]Item{item}, []Held{{Slug: item.Slug, Text: text}}, stamp)[0]; step.What != Same {
				t.Errorf("%s: %s", name, step.What)
			}
		}
	}
}

// TestCopiesAreSomewhere: a copy is of words that are in memory, or will be. What
// stands at the other slug may be something else, or nothing any more.
func TestCopiesAreSomewhere(t *testing.T) {
	items := []Item{
		{Slug: "mem/i/a", Text: "---\npath: a.md\n---\nthe words\n", From: "a.md"},
		{Slug: "mem/i/b", Text: "---\npath: b.md\n---\nthe words\n", From: "b.md"},
		{Slug: "mem/i/c", Text: "---\npath: c.md\n---\nthe words\n", From: "c.md"},
	}
	for name, h := range map[string]Held{
		"something else": {Slug: "mem/i/a", Text: "my own"},
		"removed":        {Slug: "mem/i/a", Removed: true},
	} {
		steps := Plan(items, []Held{h}, testStamp)
		if steps[0].What == New || steps[1].What != New || steps[2].What != Copy || steps[2].Of != "mem/i/b" {
			t.Errorf("%s: %s, %s, %s of %s", name, steps[0].What, steps[1].What, steps[2].What, steps[2].Of)
		}
	}
}

// TestNamedBySource: what a source names by an id is the same memory whatever it
// says, also where the slug began with other words.
func TestNamedBySource(t *testing.T) {
	for source, form := range map[string]string{
		"mem0":  `[{"id":"1","memory":"%s","user_id":"ana"},{"id":"2","memory":"Likes maps","user_id":"ana"}]`,
		"letta": `[{"id":"1","text":"%s"},{"id":"2","text":"Likes maps"}]`,
	} {
		was := read(t, source, one("a.json", fmt.Sprintf(form, "Drinks tea")))
		now := read(t, source, one("a.json", fmt.Sprintf(form, "Drinks coffee")))
		first := Plan(was.Items, nil, testStamp)
		var there []Held
		for _, s := range first {
			there = append(there, Held{Slug: s.Slug, Text: s.Text})
		}
		steps := Plan(now.Items, there, testStamp)
		if len(steps) != 2 || steps[0].What != Changed || steps[0].Slug != first[0].Slug || steps[1].What != Same {
			t.Errorf("%s: %+v", source, steps)
		}
		there[0] = Held{Slug: first[0].Slug, Removed: true}
		if steps := Plan(now.Items, there, testStamp); steps[0].What != Removed {
			t.Errorf("%s: what was removed here is %s", source, steps[0].What)
		}
	}
}
