package mind

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"engramd/nips/unit"
)

func unitOf(text string) unit.Fields { return unit.Parse(text).Fields() }

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
		err := checkDream(p, []Op{anInsight(tt.text)}, texts, o)
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
	if err := checkDream(p, twice, texts, o); !errors.As(err, &wrong) || wrong.Index != 1 || !strings.Contains(wrong.Reason, "mem/insights/x") {
		t.Errorf("an answer that repeats itself: %v", err)
	}
	if err := checkDream(p, []Op{{Op: OpWrite, Slug: "mem/insights/x", Type: "insight", InspiredBy: []string{"mem/people/ana"},
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
		err := checkDream(p, []Op{anInsight("Thorny shrubs ask for scissors when winter ends.")}, textsOf(harbour), o)
		if refused := err != nil; refused != tt.refused || refused && !strings.Contains(err.Error(), "mem/garden/roses") {
			t.Errorf("usual %v, nearest %v: %v", tt.usual, tt.nearest, err)
		}
	}
	silent := CheckOptions{View: v, Meaning: func(string) func(string, int) (float64, bool) { return nil }}
	if err := checkDream(p, []Op{anInsight(harbour["mem/boats/paint"])}, textsOf(harbour), silent); err == nil {
		t.Error("with a model that fails, words do not count any more")
	}
}

// What else a dream may not write.
func TestDreamWritesInsightsOnly(t *testing.T) {
	p, texts := harbourDream(t), textsOf(harbour)
	o := CheckOptions{Now: dreamNow, View: viewOf(t, harbour)}
	good := anInsight("Upkeep over years decides both choices.")
	if err := checkDream(p, []Op{good}, texts, o); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Op){
		"another operation":   func(o *Op) { *o = Op{Op: OpArchive, Slug: "mem/boats/paint", Why: "x"} },
		"a supersede":         func(o *Op) { *o = Op{Op: OpSupersede, Old: "mem/boats/paint", New: "mem/insights/x", Why: "x"} },
		"a link":              func(o *Op) { *o = Op{Op: OpLink, From: "mem/boats/paint", To: "mem/people/ana", Relation: "causes"} },
		"a keep":              func(o *Op) { *o = Op{Op: OpKeep, Slug: "mem/boats/paint"} },
		"a fact":              func(o *Op) { o.Type = "semantic" },
		"no type":             func(o *Op) { o.Type = "" },
		"no source":           func(o *Op) { o.InspiredBy = nil },
		"an invented source":  func(o *Op) { o.InspiredBy = append(o.InspiredBy, "mem/none") },
		"one not drawn":       func(o *Op) { o.InspiredBy = append(o.InspiredBy, "mem/web/page") },
		"the narrative as it": func(o *Op) { o.InspiredBy = []string{"mem/narrative"} },
		"derived from":        func(o *Op) { o.DerivedFrom = []string{"mem/boats/paint"} },
		"over something":      func(o *Op) { o.Slug = "mem/garden/old" },
		"no text":             func(o *Op) { o.Text = " \n" },
	} {
		op := good
		op.InspiredBy = append([]string(nil), good.InspiredBy...)
		edit(&op)
		var wrong *OpError
		if err := checkDream(p, []Op{good, op}, texts, o); !errors.As(err, &wrong) || wrong.Index != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNarrative(t *testing.T) {
	p, texts := harbourDream(t), textsOf(harbour)
	o := CheckOptions{Now: dreamNow, View: viewOf(t, harbour)}
	good := Op{Op: OpWrite, Slug: NarrativeSlug, Type: "narrative", Text: strings.Repeat("é", MaxNarrative), InspiredBy: []string{"mem/people/ana", NarrativeSlug}}
	if err := checkDream(p, []Op{good}, texts, o); err != nil {
		t.Fatal(err)
	}
	if !writesNarrative(good) || !writesNarrative(Op{Op: OpWrite, Slug: NarrativeSlug}) || writesNarrative(Op{Op: OpKeep, Slug: NarrativeSlug}) {
		t.Error("what writes the narrative is not told from what does not")
	}
	page := p
	page.Units = append([]Shown{{Slug: "mem/web/page", Role: Episode}}, p.Units...)
	for name, tt := range map[string]struct {
		plan Plan
		edit func(*Op)
	}{
		"too long":        {p, func(o *Op) { o.Text += "x" }},
		"empty":           {p, func(o *Op) { o.Text = "\n" }},
		"elsewhere":       {p, func(o *Op) { o.Slug = "mem/other" }},
		"another type":    {p, func(o *Op) { o.Type = "semantic" }},
		"without sources": {p, func(o *Op) { o.InspiredBy = nil }},
		"invented source": {p, func(o *Op) { o.InspiredBy = []string{"mem/none"} }},
		"one not shown":   {p, func(o *Op) { o.InspiredBy = []string{"mem/garden/old"} }},
		"external source": {page, func(o *Op) { o.DerivedFrom, o.InspiredBy = []string{"mem/web/page"}, nil }},
		"external words":  {p, func(o *Op) { o.Text = unit.Parse(harbour["mem/web/page"]).Body() }},
		"not shown":       {Plan{Kind: Consolidate, Units: []Shown{{Slug: "mem/people/ana", Role: Episode}}}, func(o *Op) { o.InspiredBy = []string{"mem/people/ana"} }},
	} {
		op := good
		tt.edit(&op)
		var wrong *OpError
		if err := checkNarrative(tt.plan, 3, op, texts, o); !errors.As(err, &wrong) || wrong.Index != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, trust := range []string{"told", "external"} { // told is the owner's, external a stranger's: neither is mixed with
		with := map[string]string{}
		for s, text := range harbour {
			with[s] = text
		}
		with[NarrativeSlug] = fmt.Sprintf("---\ntype: narrative\ntrust: %s\n---\nI am who I am told to be.", trust)
		p, err := PrepareDream(viewOf(t, with), DreamOptions{Now: dreamNow})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkNarrative(p, 0, good, textsOf(with), CheckOptions{View: viewOf(t, with)}); err == nil {
			t.Errorf("a %s narrative is written over", trust)
		}
	}
}
