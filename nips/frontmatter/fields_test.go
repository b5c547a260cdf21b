package frontmatter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func day(s string) Moment {
	m, ok := ParseMoment(s)
	if !ok {
		panic(s)
	}
	return m
}

func defaults() Fields {
	return Fields{Type: Semantic, Trust: Observed, Salience: DefaultSalience, Decay: DefaultDecay, State: Active}
}

func same(a, b Fields) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// Everything that was stored before there were units is one with the defaults.
func TestTextsWithoutFrontMatter(t *testing.T) {
	for _, text := range []string{"", "x", "# Title\n\ntrust: told\n", "---\nA rule.\n---\ntrust: told\n", "trust: told\n"} {
		if d := Parse(text); !same(d.Fields(), defaults()) || d.Faults() != nil || d.Body() != text {
			t.Errorf("%q: %+v, %v", text, d.Fields(), d.Faults())
		}
	}
}

func TestFields(t *testing.T) {
	d := Parse(`---
type: episodic
description: Why Atlas uses SQLite
tags: [atlas, storage]
who: mem/people/ana
when: 2026-11-20
session: 8c35adc1
created: 2026-11-22T06:02:44Z
source: claude-code:8c35adc1
trust: derived
salience: 0.7
decay: 0.9
emotion: {satisfaction: 0.6, calm: 1}
derived_from: [mem/journal/2026-11-21]
supersedes: mem/projects/atlas/old
supports: ["mem/projects/atlas/cost 0.8", "[[mem/a]]"]
state: superseded
path: /memories/A b.md
pin: true
consolidated: 2026-11-23
due: 2026-12-01T09:00:00+01:00
every: P1D
trigger: "when a release of Atlas is planned"
propose: write
slug: mem/x
base: none
vouch: true
why: it is so
---
See [[mem/people/ana]], [[Not a slug]] and [[mem/people/ana]].
`)
	want := defaults()
	want.Type, want.Description, want.Tags, want.Who, want.When = Episodic, "Why Atlas uses SQLite", []string{"atlas", "storage"}, []string{"mem/people/ana"}, day("2026-11-20")
	want.Session, want.Created, want.Source, want.Trust = "8c35adc1", day("2026-11-22T06:02:44Z"), "claude-code:8c35adc1", Derived
	want.Salience, want.HasSalience, want.Decay, want.State = 0.7, true, 0.9, Superseded
	want.Emotion[5], want.Emotion[7] = 0.6, 1
	want.Relations = []Relation{{"derived_from", "mem/journal/2026-11-21", 1}, {"supersedes", "mem/projects/atlas/old", 1},
		{"supports", "mem/projects/atlas/cost", 0.8}, {"supports", "mem/a", 1}}
	want.Path, want.Pin, want.Consolidated, want.Due, want.Every = "/memories/A b.md", true, day("2026-11-23"), day("2026-12-01T08:00:00Z"), "P1D"
	want.Trigger, want.Propose, want.Slug, want.Base, want.Vouch, want.Why = "when a release of Atlas is planned", "write", "mem/x", "none", true, "it is so"
	if got := d.Fields(); !same(got, want) || d.Faults() != nil {
		t.Errorf("%+v\nnot\n%+v\n%v", got, want, d.Faults())
	}
	if links := d.Links(); len(links) != 5 || links[4] != (Relation{Link, "mem/people/ana", 1}) || want.Relations[2].Value() != "mem/projects/atlas/cost 0.8" {
		t.Errorf("%v", links)
	}
}

// What cannot be read is the default and a fault, whatever stands there.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		head string
		keys []string
		also func(*Fields)
	}{
		{"type: [a]", []string{"type"}, nil},
		{"type: user", []string{"type"}, func(f *Fields) { f.Kind = "user" }},
		{"description: [a]", []string{"description"}, nil},
		{"tags: {a: b}", []string{"tags"}, nil},
		{"when: yesterday", []string{"when"}, nil},
		{"salience: NaN", []string{"salience"}, nil},
		{"salience: 1e9", []string{"salience"}, nil},
		{"salience: -0.1", []string{"salience"}, nil},
		{"decay: much", []string{"decay"}, nil},
		{"emotion: glad", []string{"emotion"}, nil},
		{"emotion: {glad: 1, joy: 2, calm: 1}", []string{"emotion", "emotion"}, func(f *Fields) { f.Emotion[7] = 1 }},
		{"supports: [mem/a 2, a b c, mem/b]", []string{"supports", "supports"}, func(f *Fields) { f.Relations = []Relation{{"supports", "mem/b", 1}} }},
		{"state: gone", []string{"state"}, nil},
		{"pin: yes", []string{"pin"}, nil},
		{"trust: sure", []string{"trust"}, func(f *Fields) { f.Trust = External }},
		{"trust: [told]", []string{"trust"}, func(f *Fields) { f.Trust = External }},
		{"trust: told\ntrust: external", []string{"trust"}, func(f *Fields) { f.Trust = External }},
		{"salience: 0.2\nsalience: 0.9", []string{"salience"}, func(f *Fields) { f.Salience, f.HasSalience = 0.2, true }},
	} {
		d, want := Parse("---\n"+tt.head+"\n---\n"), defaults()
		if tt.also != nil {
			tt.also(&want)
		}
		var keys []string
		for _, f := range d.Faults() {
			keys = append(keys, f.Key)
		}
		if got := d.Fields(); !same(got, want) || !slices.Equal(keys, tt.keys) {
			t.Errorf("%s: %+v, %v", tt.head, got, d.Faults())
		}
	}
}

// Names that other tools use are understood.
func TestOtherTools(t *testing.T) {
	f := Parse("---\nname: decisions\ntitle: What was decided\nmetadata:\n  type: feedback\n---\nx").Fields()
	if f.Name != "decisions" || f.Title != "What was decided" || f.Kind != "feedback" || f.Type != Semantic {
		t.Errorf("%+v", f)
	}
	for kind, want := range map[string]string{"": "semantic ", "user": "semantic user", "feedback": "semantic feedback", "project": "semantic ",
		"reference": "semantic ", "decision": "semantic decision", "bugfix": "episodic bugfix", "pattern": "procedural pattern", "episodic": "episodic "} {
		if typ, tag := Adopted(kind); string(typ)+" "+tag != want {
			t.Errorf("%q becomes %s, %q", kind, typ, tag)
		}
	}
}

// What a person does not see in a list, a model does not read there either.
func TestHeadingHidesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"# \u202eevil\u202c title":                                     "evil title",
		"a\u2066b\u2069c\u200bd\ufeffe\u00adf":                         "abcdef",
		"Notes" + "\U000e0001\U000e0053\U000e0059\U000e0053\U000e007f": "Notes",
		"Notes\U000e0101\U000e01ef":                                    "Notes",
		"a\x00b\x1b[2Jc\u0085d":                                        "a b [2Jc d",
		"---\ndescription: \"one\\u202e two\"\n---\nx":                 "one two",
		"👩\u200d👩\u200d👧 می\u200cخواهم ❤\ufe0f":                        "👩\u200d👩\u200d👧 می\u200cخواهم ❤\ufe0f",
		"\u200e\u200f\nsecond line":                                    "second line",
	} {
		if got := Parse(text).Heading(80); got != want {
			t.Errorf("%q has the heading %q, want %q", text, got, want)
		}
	}
}

func TestHeading(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"---":                       "",
		"\n\n## The *title* \nx":    "The *title*",
		"---\nA rule.\n---\nx":      "A rule.",
		"first\tline\u0007\nsecond": "first line",
		"---\ndescription: D\ntitle: T\n---\n# H": "D",
		"---\ntitle: T\n---\n# H":                 "T",
		"---\nname: n\n---\n\n# H":                "H",
		"---\ndescription: |\n  long\n---\n# H":   "H",
		"---\ndescription: [a]\n---\n# H":         "H",
		"---\ndescription: \"a\\nb\"\n---\n# H":   "a b",
		"🙂\nx":                                    "🙂",
		strings.Repeat("é", 81) + "\n":            strings.Repeat("é", 80) + "…",
	} {
		if got := Parse(text).Heading(80); got != want {
			t.Errorf("%q is headed %q", text, got)
		}
	}
}

func TestMoments(t *testing.T) {
	for _, s := range []string{"", "2026-11-20", "2026-11-22T06:02:44Z"} {
		if m, ok := ParseMoment(s); m.String() != s || ok == (s == "") || m.IsZero() != (s == "") {
			t.Errorf("%q is %q, %v", s, m, ok)
		}
	}
	if got := At(time.Date(2026, 11, 22, 1, 2, 3, 4, time.FixedZone("", 3600))).String(); got != "2026-11-22T00:02:03Z" {
		t.Error(got)
	}
}
