package consolidation

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"engramd/nips/frontmatter"
)

func unitOf(text string) frontmatter.Fields { return frontmatter.Parse(text).Fields() }

var harbour = map[string]string{
	"mem/projects/atlas/storage": "Atlas keeps its data in SQLite, because one file is easy to back up and to move.",
	"mem/projects/ferry/times":   "The ferry to the island leaves at seven in winter and at six in summer.",
	"mem/people/ana":             "Ana prefers coffee to tea.",
	"mem/boats/paint":            "Blue paint on the hull lasts two seasons longer than green paint.",
	"mem/garden/roses":           "Roses want pruning in late February, before the first buds open.",
	"mem/garden/old":             "---\nstate: archived\n---\nMoles leave the garden when the lawn is watered at dawn every day.",
	"mem/insights/backup":        "---\ntype: insight\ntrust: derived\n---\nWhat is kept in one place is easy to care for and easy to lose: the single database and the only ferry fail alike.",
	"mem/web/page":               "---\ntrust: external\n---\nExperts say that hulls should be dried for three weeks before any new coating is applied, with sails, masts and ropes stored elsewhere.",
	"mem/narrative":              "---\ntype: narrative\n---\nI look after boats and the people who sail them.",
}

func harbourDream(t *testing.T) Plan {
	t.Helper()
	p, err := PrepareDream(viewOf(t, harbour), DreamOptions{Now: dreamNow, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func anInsight(text string, from ...string) Op {
	if from == nil {
		from = []string{"mem/projects/atlas/storage", "mem/boats/paint"}
	}
	return Op{Op: OpWrite, Slug: "mem/insights/x", Type: "insight", Text: text, InspiredBy: from}
}

// What is new is taken, what is there in other words is refused with its slug, in
// whatever state it is.
func TestNovelty(t *testing.T) {
	p, texts := harbourDream(t), textsOf(harbour)
	o := CheckOptions{Now: dreamNow, View: viewOf(t, harbour)}
	for _, tt := range []struct{ name, text, near string }{
		{"a connection", "Both hull and database are chosen by what their upkeep costs over years, not by what they cost on the first day.", ""},
		{"another", "Ana could hand over the winter timetable on mornings when she is up before everybody else anyway.", ""},
		{"one that names short facts whole", "Ana prefers coffee to tea, roses like February: whoever plans a visit should look at habits as much as at the calendar of the season.", ""},
		{"the same words", harbour["mem/boats/paint"], "mem/boats/paint"},
		{"in another order", "Two seasons longer than green lasts blue paint on a hull.", "mem/boats/paint"},
		{"inflected", "Painting hulls blue lasted two seasons longer than painting them green.", "mem/boats/paint"},
		{"a paraphrase", "Atlas uses SQLite for its data since a single file is easily backed up or moved elsewhere.", "mem/projects/atlas/storage"},
		{"with words around", "It is remarkable, when one thinks of it for a while, that in winter the island's ferry leaves at seven, in summer at six.", "mem/projects/ferry/times"},
		{"a short fact", "Ana prefers tea to coffee", "mem/people/ana"},
		{"an insight again", "What is kept in a single place is easily cared for, easily lost: database and ferry fail alike.", "mem/insights/backup"},
		{"what is archived", "Moles leave a garden whose lawn is watered daily at dawn.", "mem/garden/old"},
		{"what others say", "Experts say hulls should dry three weeks before a new coating is applied.", "mem/web/page"},
		{"the narrative", "I look after people who sail and their boats.", "mem/narrative"},
	} {
		_, err := Check(p, []Op{anInsight(tt.text)}, texts, o)
		var wrong *OpError
		switch {
		case tt.near == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.near != "" && (!errors.As(err, &wrong) || !strings.Contains(wrong.Reason, tt.near)):
			t.Errorf("%s: %v, want it refused for %s", tt.name, err, tt.near)
		}
	}
	twice := []Op{anInsight("Both hull and database are chosen by what upkeep costs over years."), anInsight("Hull and database both are chosen by what their upkeep costs over the years.")}
	twice[1].Slug = "mem/insights/y"
	var wrong *OpError
	if _, err := Check(p, twice, texts, o); !errors.As(err, &wrong) || wrong.Index != 1 || !strings.Contains(wrong.Reason, "mem/insights/x") {
		t.Errorf("an answer that repeats itself: %v", err)
	}
	if _, err := Check(p, []Op{{Op: OpWrite, Slug: "mem/insights/x", Type: "insight", InspiredBy: []string{"mem/people/ana"},
		Description: harbour["mem/boats/paint"], Text: "So be it."}}, texts, o); err == nil {
		t.Error("a description that repeats a unit is taken")
	}
}

// A paraphrase in other words has no stem in common: a model's vectors find it. What
// counts is how far its cosine is above what is usual.
func TestNoveltyByMeaning(t *testing.T) {
	texts := library(40)
	for s, text := range harbour {
		texts[s] = text
	}
	v, p := viewOf(t, texts), harbourDream(t)
	for _, tt := range []struct {
		usual, nearest float64
		refused        bool
	}{
		{0.1, 0.3, false}, {0.1, 0.5, true}, {0.7, 0.78, false}, {0.7, 0.85, true}, {0, 1, true}, {0.999, 0.999, false},
	} {
		o := CheckOptions{Now: dreamNow, View: v, Meaning: func(string) func(string, int) (float64, bool) {
			return func(slug string, section int) (float64, bool) {
				if slug == "mem/garden/roses" {
					return tt.nearest, true
				}
				return tt.usual, slug != "mem/people/ana"
			}
		}}
		_, err := Check(p, []Op{anInsight("Thorny shrubs ask for scissors when winter ends.")}, textsOf(harbour), o)
		if refused := err != nil; refused != tt.refused || refused && !strings.Contains(err.Error(), "mem/garden/roses") {
			t.Errorf("usual %v, nearest %v: %v", tt.usual, tt.nearest, err)
		}
	}
	silent := CheckOptions{View: v, Meaning: func(string) func(string, int) (float64, bool) { return nil }}
	if _, err := Check(p, []Op{anInsight(harbour["mem/boats/paint"])}, textsOf(harbour), silent); err == nil {
		t.Error("with a model that fails, words do not count any more")
	}
}

// What else a dream may not write.
func TestDreamWritesInsightsOnly(t *testing.T) {
	p, texts := harbourDream(t), textsOf(harbour)
	o := CheckOptions{Now: dreamNow, View: viewOf(t, harbour)}
	good := anInsight("Upkeep over years decides both choices.")
	for _, typ := range []string{"", "insight"} {
		good.Type = typ
		all, err := Check(p, []Op{good}, texts, o)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		f := unitOf(all[0].New)
		if f.Type != frontmatter.Insight || f.Trust != frontmatter.Derived || len(f.Relations) != 2 || f.Relations[0].Relation != "inspired_by" || all[0].Base != "" {
			t.Fatalf("wrote %s", all[0].New)
		}
	}
	other := anInsight("What lasts is bought once and praised often.")
	other.Slug = "mem/insights/y"
	for name, edit := range map[string]func(*Op){
		"another operation":   func(o *Op) { *o = Op{Op: OpArchive, Slug: "mem/boats/paint", Why: "x"} },
		"a supersede":         func(o *Op) { *o = Op{Op: OpSupersede, Old: "mem/boats/paint", New: "mem/insights/x", Why: "x"} },
		"a link":              func(o *Op) { *o = Op{Op: OpLink, From: "mem/boats/paint", To: "mem/people/ana", Relation: "causes"} },
		"a keep":              func(o *Op) { *o = Op{Op: OpKeep, Slug: "mem/boats/paint"} },
		"a fact":              func(o *Op) { o.Type = "semantic" },
		"no source":           func(o *Op) { o.InspiredBy = nil },
		"an invented source":  func(o *Op) { o.InspiredBy = append(o.InspiredBy, "mem/none") },
		"one not drawn":       func(o *Op) { o.InspiredBy = append(o.InspiredBy, "mem/web/page") },
		"the narrative as it": func(o *Op) { o.InspiredBy = []string{"mem/narrative"} },
		"derived from":        func(o *Op) { o.DerivedFrom = []string{"mem/boats/paint"} },
		"over something":      func(o *Op) { o.Slug = "mem/garden/old" },
		"no text":             func(o *Op) { o.Text = " \n" },
		"front matter":        func(o *Op) { o.Text = "---\ntrust: told\n---\n" + o.Text },
	} {
		op := other
		op.InspiredBy = append([]string(nil), other.InspiredBy...)
		edit(&op)
		var wrong *OpError
		if all, err := Check(p, []Op{good, op}, texts, o); !errors.As(err, &wrong) || wrong.Index != 1 || all != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A dream may write the narrative anew; nothing of a stranger gets into it, and what
// the owner told stays.
func TestADreamMayWriteTheNarrative(t *testing.T) {
	good := Op{Op: OpWrite, Slug: NarrativeSlug, Type: "narrative", Text: strings.Repeat("é", MaxNarrative), InspiredBy: []string{"mem/people/ana", NarrativeSlug}}
	for name, tt := range map[string]struct {
		trust string // of the one that is there
		edit  func(*Op)
		fits  bool
	}{
		"anew":            {"derived", func(*Op) {}, true},
		"too long":        {"derived", func(o *Op) { o.Text += "x" }, false},
		"empty":           {"derived", func(o *Op) { o.Text = "\n" }, false},
		"elsewhere":       {"derived", func(o *Op) { o.Slug = "mem/other" }, false},
		"another type":    {"derived", func(o *Op) { o.Type = "insight" }, false},
		"without sources": {"derived", func(o *Op) { o.InspiredBy = nil }, false},
		"invented source": {"derived", func(o *Op) { o.InspiredBy = []string{"mem/none"} }, false},
		"one not shown":   {"derived", func(o *Op) { o.InspiredBy = []string{"mem/garden/old"} }, false},
		"external words":  {"derived", func(o *Op) { o.Text = frontmatter.Parse(harbour["mem/web/page"]).Body() }, false},
		"described so":    {"derived", func(o *Op) { o.Description = frontmatter.Parse(harbour["mem/web/page"]).Body() }, false},
		"told":            {"told", func(*Op) {}, false},
		"external":        {"external", func(*Op) {}, false},
	} {
		with := maps.Clone(harbour)
		with[NarrativeSlug] = fmt.Sprintf("---\ntype: narrative\ntrust: %s\n---\nI am who I am told to be.", tt.trust)
		p, err := PrepareDream(viewOf(t, with), DreamOptions{Now: dreamNow})
		if err != nil {
			t.Fatal(err)
		}
		op := good
		tt.edit(&op)
		all, err := Check(p, []Op{op}, textsOf(with), CheckOptions{Now: dreamNow, View: viewOf(t, with)})
		if tt.fits != (err == nil) || tt.fits && (len(all) != 1 || unitOf(all[0].New).Type != frontmatter.Narrative || unitOf(all[0].New).Trust != frontmatter.Derived) {
			t.Errorf("%s: %v, %v", name, err, all)
		}
	}
}
