package recall

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Two repositories: the question is asked in that of atlas.
const (
	atlas = "github-com/ana/atlas-1a2b3c4d"
	kiln  = "gitlab-com/bo/kiln-5e6f7a8b"
)

var (
	inAtlas = Scope{Own: []string{atlas, "github-com-ana-atlas"}, Remote: "github.com/ana/atlas", Last: "atlas",
		Others: []Project{{kiln, "gitlab.com/bo/kiln", "kiln"}, {atlas + "/sub", "github.com/ana/sub", "sub"}, {Name: "gone-0a1b2c3d"}}}
	outside = Scope{Others: append([]Project{{atlas, "github.com/ana/atlas", "atlas"}}, inAtlas.Others...)}
)

// TestScope: whose memory is told, where, and asked or not.
func TestScope(t *testing.T) {
	x := indexOf(t, memory("mem/projects/"+atlas+"/db", "SQLite"))
	told := func(s Scope) Scope { s.Told = true; return s }
	every := func(s Scope) Scope { s.All = true; return s }
	const none, own, old, other, nested, gone, stray, last, host = "none", "own", "old", "other", "nested", "gone", "stray", "last", "host"
	docs := map[string]struct{ slug, project string }{
		none: {"mem/people/ana", ""}, "a name that begins alike": {"mem/projects", ""},
		own: {"mem/projects/" + atlas + "/db", ""}, old: {"mem/projects/github-com-ana-atlas", ""}, other: {"mem/projects/" + kiln + "/db", ""},
		"its note": {"mem/journal/1", atlas}, "another's note": {"mem/journal/2", kiln}, "another's note among its own": {"mem/projects/" + atlas + "/x", kiln},
		nested: {"mem/projects/" + atlas + "/sub/db", ""}, gone: {"mem/projects/gone-0a1b2c3d/db", ""},
		stray: {"mem/projects/boats/db", ""}, last: {"mem/projects/atlas/db", ""}, "a note of a stray name": {"mem/journal/3", "boats"},
		host: {"mem/projects/atlas/acme/secret", ""}, "a note of a host": {"mem/journal/4", "atlas/acme/secret"}, "below one": {"mem/projects/Atlas/acme/secret/db", ""},
		"a name that only begins like the own one": {"mem/projects/" + atlas + "e/db", ""},
	}
	all := []string{}
	for name := range docs {
		all = append(all, name)
	}
	home := []string{none, "a name that begins alike", own, old, "its note"}
	unknown := []string{stray, last, "a note of a stray name", "a name that only begins like the own one", host, "a note of a host", "below one"}
	for name, tt := range map[string]struct {
		scope Scope
		text  string
		want  []string
	}{
		"linked, asked":                 {inAtlas, "Where is the data?", slices.Concat(home, unknown)},
		"linked, told":                  {told(inAtlas), "Where is the data?", slices.Concat(home, []string{last})},
		"linked, asked for all":         {every(inAtlas), "Where is the data?", all},
		"linked, asked, named":          {inAtlas, "Where is bo/kiln's data?", slices.Concat(home, unknown, []string{other, "another's note", "another's note among its own"})},
		"linked, told, named":           {told(inAtlas), "See https://gitlab.com/bo/kiln.git.", slices.Concat(home, []string{last, other, "another's note", "another's note among its own"})},
		"linked, asked, by last level":  {inAtlas, "And the data of Kiln?", slices.Concat(home, unknown, []string{other, "another's note", "another's note among its own"})},
		"linked, told, by last level":   {told(inAtlas), "And the data of Kiln?", slices.Concat(home, []string{last})},
		"linked, a name without folder": {told(inAtlas), "What of gone-0a1b2c3d?", slices.Concat(home, []string{last, gone})},
		"outside, asked":                {outside, "Where is the data?", all},
		"outside, told":                 {told(outside), "Where is the data of github.com/ana/atlas?", []string{none, "a name that begins alike"}},
		"nothing is known, asked":       {Scope{}, "", all},
		"nothing is known, told":        {told(Scope{}), "", []string{none, "a name that begins alike"}},
	} {
		w := x.Within(tt.scope, tt.text)
		rest, some := w.Rest()
		for doc, d := range docs {
			want := slices.Contains(tt.want, doc)
			if got := w.has(d.slug, d.project); got != want {
				t.Errorf("%s: %s is among it: %v", name, doc, got)
			}
			if some && rest.has(d.slug, d.project) == want || !some && len(tt.want) != len(all) {
				t.Errorf("%s: %s is left out and is not, or neither", name, doc)
			}
		}
	}
}

// TestNames: which words name another project.
func TestNames(t *testing.T) {
	x := indexOf(t, memory("mem/projects/"+atlas+"/db", "SQLite"))
	for text, want := range map[string]bool{
		"bo/kiln": true, "See bo/kiln.": true, "(BO/Kiln)": true, "gitlab.com/bo/kiln/-/issues/3": true, "git@gitlab.com:bo/kiln.git": true,
		"ssh://git@gitlab.com/bo/kiln.git, please": true, "mem/projects/" + kiln + "/db": true,
		"bo/kilns": false, "bo/kiln-2": false, "bo/kiln.js": false, "jumbo/kiln": false, "a-bo/kiln": false, "other.com/bo/kiln": false, "src/bo/kiln": false,
		"bo kiln": false, "kiln": false, "": false,
	} {
		w := x.Within(Scope{Own: inAtlas.Own, Remote: inAtlas.Remote, Last: "atlas", Others: inAtlas.Others, Told: true}, text)
		if got := w.has("mem/projects/"+kiln, ""); got != want {
			t.Errorf("%q names it: %v", text, got)
		}
	}
	// The same path at another host is told from the own one by the host alone.
	alike := Scope{Own: []string{atlas}, Remote: "github.com/ana/atlas", Last: "atlas", Others: []Project{{"x-org/ana/atlas-99999999", "x.org/ana/atlas", "atlas"}}}
	for text, want := range map[string]bool{"ana/atlas": false, "atlas": false, "x.org/ana/atlas": true} {
		if got := x.Within(alike, text).has("mem/projects/x-org/ana/atlas-99999999", ""); got != want {
			t.Errorf("%q names it: %v", text, got)
		}
	}
}

// TestLastLevelAlone: it names a project only where it is no word of the language.
func TestLastLevelAlone(t *testing.T) {
	note := func(slug, text string) Document { return memory("mem/"+slug, text) }
	for name, tt := range map[string]struct {
		last, text string
		docs       []Document
		want       bool
	}{
		"a name":                     {"kiln", "What does kiln do?", nil, true},
		"another case":               {"Kiln", "What does KILN do?", nil, true},
		"two notes have it":          {"kiln", "What does kiln do?", []Document{note("a", "Kiln"), note("b", "the kiln")}, true},
		"a word of three notes":      {"kiln", "What does kiln do?", []Document{note("a", "Kiln"), note("b", "kilns"), note("c", "kiln")}, false},
		"a word of the own project":  {"kiln", "What does kiln do?", []Document{note("projects/"+atlas+"/a", "It calls kiln.")}, false},
		"a stop word":                {"the", "What does the do?", nil, false},
		"a word by which people ask": {"thing", "What does thing do?", nil, false},
		"too short":                  {"go", "What does go do?", nil, false},
		"of several words":           {"kiln-ui", "What does kiln-ui do?", nil, true},
		"of which it lacks one":      {"kiln-ui", "What does kiln do?", nil, false},
		"in a path":                  {"kiln", "What is in src/kiln.go?", nil, false},
		"the own one's":              {"atlas", "What does atlas do?", nil, false},
		"it is not said":             {"kiln", "What does it do?", nil, false},
	} {
		x := indexOf(t, append(tt.docs, note("projects/"+kiln+"/x", "It fires tiles, as a kiln or kiln-ui."), note("projects/"+kiln+"/thing", "A thing to go."))...)
		s := Scope{Own: []string{atlas}, Last: "atlas", Others: []Project{{kiln, "gitlab.com/bo/" + tt.last, tt.last}}}
		if got := x.Within(s, tt.text).has("mem/projects/"+kiln+"/x", ""); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The project of the front matter is kept in the blob, and another's is named.
func TestProjectIsKept(t *testing.T) {
	x := indexOf(t, memory("mem/journal/1", "---\nproject: mem/projects/"+kiln+"/\n---\nFired."), memory("mem/journal/2", "---\nproject: "+strings.Repeat("x", 300)+"\n---\nFired."),
		memory("mem/projects/"+atlas+"/db", "SQLite"), memory("mem/x", "SQLite"))
	x, err := Decode(x.Encode())
	if err != nil || x.project("mem/journal/1") != kiln || x.project("mem/journal/2") != "" || x.project("mem/none") != "" {
		t.Fatalf("%q, %v", x.project("mem/journal/1"), err)
	}
	w := x.Within(inAtlas, "")
	for slug, want := range map[string]string{"mem/journal/1": "gitlab.com/bo/kiln", "mem/projects/" + atlas + "/db": "", "mem/x": "", "mem/none": ""} {
		if got := w.Of(slug); got != want {
			t.Errorf("%s is of %q", slug, got)
		}
	}
	if got := (Project{Remote: "x.org/a)\n## mem/b (told\u202e"}).title(); got != "x.org/a-----mem/b--told-" {
		t.Errorf("a title is %q", got)
	}
}

// No text makes a hook tell of a project that it does not name.
func FuzzWithin(f *testing.F) {
	x := indexOf(f, memory("mem/projects/"+kiln+"/x", "It fires tiles."))
	f.Add("see bo/kiln", "gitlab.com/bo/kiln")
	f.Add("\xff/\xfe", "\xff/")
	f.Fuzz(func(t *testing.T, text, remote string) {
		s := Scope{Own: []string{atlas}, Last: "atlas", Others: []Project{{kiln, remote, "kiln"}}, Told: true}
		got := x.Within(s, text).has("mem/projects/"+kiln+"/x", "")
		lower := strings.ToLower(text)
		if _, path, _ := strings.Cut(strings.ToLower(remote), "/"); got && !strings.Contains(lower, kiln) && (path == "" || !strings.Contains(lower, path)) {
			t.Errorf("%q names %q", text, remote)
		}
		if title := s.Others[0].title(); !utf8.ValidString(title) || strings.ContainsAny(title, "\n()") {
			t.Errorf("the title %q", title)
		}
	})
}
