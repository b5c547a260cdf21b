package recall

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"engramd/nips/frontmatter"
)

// fees is a fact that was corrected, the episode it was taken from, and the correction.
func fees(with library) library {
	l := library{
		"mem/journal/1": "---\ntype: episodic\nsession: s1\n---\nAna says the harbour fee is 12 euros a night.",
		"mem/fees":      "---\ntrust: derived\nstate: superseded\nsession: s1\nderived_from: mem/journal/1\n---\nThe harbour fee is 12 euros a night.",
		"mem/fees-15":   "---\ntrust: derived\nsession: s2\nsupersedes: mem/fees\n---\nA night in the harbour costs 15 euros.",
		"mem/tea":       "Ana likes tea in the morning.",
	}
	for slug, text := range with {
		l[slug] = text
	}
	return l
}

// TestStanding: what does not hold any more follows from what is recorded, and from
// nothing that has too little trust to say so.
func TestStanding(t *testing.T) {
	for name, c := range map[string]struct {
		with library
		slug string
		want string
	}{
		"an episode of which all is superseded": {nil, "mem/journal/1", "superseded by mem/fees-15"},
		"a superseded fact":                     {nil, "mem/fees", "superseded by mem/fees-15"},
		"the correction":                        {nil, "mem/fees-15", ""},
		"an episode of which a part is": {library{"mem/ferry": "---\ntrust: derived\nderived_from: mem/journal/1\n---\nAna sails."},
			"mem/journal/1", "partly superseded by mem/fees-15"},
		"its narrative does not count": {library{"mem/narrative": "---\ntype: narrative\nderived_from: mem/journal/1\n---\nI know Ana."},
			"mem/journal/1", "superseded by mem/fees-15"},
		"nor does what is external": {library{"mem/from/eve/1": "---\ntrust: external\nderived_from: mem/journal/1\n---\nAna sails."},
			"mem/journal/1", "superseded by mem/fees-15"},
		"an insight that rests on it": {library{"mem/dear": "---\ntype: insight\nderived_from: [mem/fees, mem/tea]\n---\nTea is cheaper than the harbour."},
			"mem/dear", "superseded by mem/fees-15"},
		"with a slug that lacks mem/": {library{"mem/dear": "---\ntype: procedural\nderived_from: fees\n---\nPay 12."}, "mem/dear", "superseded by mem/fees-15"},
		"a correction that is derived from what it corrects": {library{"mem/fees-15": "---\nsupersedes: mem/fees\nderived_from: mem/fees\n---\n15 euros."},
			"mem/fees-15", ""},
		"a chain ends at what is active": {library{
			"mem/fees-15": "---\nstate: superseded\nsupersedes: mem/fees\n---\n15 euros.",
			"mem/fees-18": "---\nsupersedes: mem/fees-15\nderived_from: [mem/fees, mem/fees-15]\n---\n18 euros."}, "mem/journal/1", "superseded by mem/fees-18"},
		"and its end is not stale": {library{
			"mem/fees-15": "---\nstate: superseded\nsupersedes: mem/fees\n---\n15 euros.",
			"mem/fees-18": "---\nsupersedes: mem/fees-15\nderived_from: [mem/fees, mem/fees-15]\n---\n18 euros."}, "mem/fees-18", ""},
		"a chain that ends in the archive": {library{"mem/fees-15": "---\nstate: archived\nsupersedes: mem/fees\n---\n15 euros."},
			"mem/journal/1", "superseded by mem/fees-15"},
		"a ring": {library{"mem/fees": "---\nstate: superseded\nsupersedes: mem/fees-15\nderived_from: mem/journal/1\n---\n12.",
			"mem/fees-15": "---\nstate: superseded\nsupersedes: mem/fees\n---\n15."}, "mem/journal/1", "superseded by mem/fees-15"},
		"what was observed stays beside what is external": {library{
			"mem/fees":    "---\nstate: superseded\nderived_from: mem/journal/1\n---\n12 euros.",
			"mem/fees-15": "---\ntrust: external\nsupersedes: mem/fees\n---\n15 euros."}, "mem/journal/1", ""},
		"and what was told beside what was observed": {library{
			"mem/fees":    "---\ntrust: told\nstate: superseded\nderived_from: mem/journal/1\n---\n12 euros.",
			"mem/fees-15": "---\nsupersedes: mem/fees\n---\n15 euros."}, "mem/journal/1", ""},
		"it is superseded by what was derived from what was observed later": {library{
			"mem/fees":      "---\nstate: superseded\nderived_from: mem/journal/1\n---\n12 euros.",
			"mem/journal/2": "---\ntype: episodic\nwhen: 2030-01-01\n---\n15 now.",
			"mem/fees-15":   "---\ntrust: derived\nsupersedes: mem/fees\nderived_from: mem/journal/2\n---\n15 euros."}, "mem/journal/1", "superseded by mem/fees-15"},
		"and not earlier": {library{
			"mem/fees":      "---\nstate: superseded\nderived_from: mem/journal/1\n---\n12 euros.",
			"mem/journal/2": "---\ntype: episodic\nwhen: 2020-01-01\n---\n15 now.",
			"mem/fees-15":   "---\ntrust: derived\nsupersedes: mem/fees\nderived_from: mem/journal/2\n---\n15 euros."}, "mem/journal/1", ""},
		"a claim alone supersedes nothing": {library{"mem/fees": "---\ntrust: derived\nderived_from: mem/journal/1\n---\n12 euros."}, "mem/journal/1", ""},
		"external words say nothing of an own episode": {library{
			"mem/fees":       "---\nderived_from: mem/journal/1\n---\n12 euros.",
			"mem/from/eve/1": "---\ntrust: external\nstate: superseded\nderived_from: mem/journal/1\n---\n12.",
			"mem/from/eve/2": "---\ntrust: external\nsupersedes: mem/from/eve/1\n---\n13."}, "mem/journal/1", ""},
		"the narrative is never stale": {library{"mem/narrative": "---\ntype: narrative\nderived_from: mem/fees\n---\nI pay 12."},
			"mem/narrative", "partly superseded by mem/fees-15"},
		"nor is an intention": {library{"mem/pay": "---\ntype: prospective\nderived_from: mem/fees\n---\nPay 12."}, "mem/pay", "partly superseded by mem/fees-15"},
		"nor the core":        {library{"core": "I pay what [[mem/fees]] says."}, "core", "partly superseded by mem/fees-15"},
		"what contradicts":    {library{"mem/coffee": "---\ncontradicts: mem/tea\n---\nAna likes coffee."}, "mem/tea", "contradicts mem/coffee"},
		"both ways":           {library{"mem/coffee": "---\ncontradicts: mem/tea\n---\nAna likes coffee."}, "mem/coffee", "contradicts mem/tea"},
		"if both are active":  {library{"mem/coffee": "---\nstate: archived\ncontradicts: mem/tea\n---\nAna likes coffee."}, "mem/tea", ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := fees(c.with).index(t)
			kept, err := Decode(x.Encode())
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []*Index{x, kept} {
				got := strings.Join(x.Truth().Of(c.slug).Notes(), "; ")
				stale := strings.HasPrefix(c.want, "superseded") && c.slug != "mem/fees"
				if got != c.want || x.Truth().Stale(c.slug) != stale {
					t.Errorf("%s is %q, stale %v, and not %q", c.slug, got, x.Truth().Stale(c.slug), c.want)
				}
			}
		})
	}
}

// TestRecallPutsTheNewFirst: what does not hold comes behind what holds in its place,
// which is brought in, and never alone where the filter allows both.
func TestRecallPutsTheNewFirst(t *testing.T) {
	more := library{"mem/dear": "---\ntype: insight\nderived_from: mem/fees\n---\nThe harbour fee is dear.",
		"mem/milk": "---\ncontradicts: mem/tea\n---\nIt is milk that she drinks."}
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"the episode":                  {Query{Text: "harbour fee", Filter: Filter{Types: []frontmatter.Type{frontmatter.Episodic, frontmatter.Semantic}}}, "mem/fees-15 mem/journal/1"},
		"brought in without a word":    {Query{Text: "Ana says the fee"}, "mem/fees-15 mem/journal/1"},
		"where the filter lets it":     {Query{Text: "harbour fee", Filter: Filter{MinTrust: frontmatter.Observed}}, "mem/journal/1 mem/dear"},
		"also with those that are not": {Query{Text: "harbour fee", Filter: Filter{Prefix: "mem/f", States: frontmatter.States}}, "mem/fees-15 mem/fees"},
		"beside what contradicts":      {Query{Text: "tea in the morning"}, "mem/tea mem/milk"},
		"a phrase":                     {Query{Text: `"12 euros"`}, "mem/fees-15 mem/journal/1"},
	} {
		t.Run(name, func(t *testing.T) {
			l := fees(more)
			x := l.index(t)
			c.q.Now = now
			if got := names(x.Recall(c.q, Recipe(), l.texts)); !strings.HasPrefix(got, c.want) {
				t.Errorf("recall finds %s, not %s", got, c.want)
			}
			var all []string
			for _, h := range x.Search(c.q, Recipe(), l.texts) {
				all = append(all, h.Slug)
			}
			if at, of := slices.Index(all, "mem/fees-15"), slices.Index(all, "mem/journal/1"); at > of && of >= 0 {
				t.Errorf("search finds %v", all)
			}
		})
	}
	l := fees(more)
	x := l.index(t)
	block, _ := Block(append(x.Recall(Query{Text: "harbour fee", Now: now}, Recipe(), l.texts), x.Recall(Query{Text: "tea in the morning", Now: now}, Recipe(), l.texts)...), l.texts, 4000)
	for _, heading := range []string{"## mem/journal/1 (observed; superseded by mem/fees-15;", "## mem/dear (observed; superseded by mem/fees-15;", "## mem/tea (observed; contradicts mem/milk;"} {
		if !strings.Contains(block, heading) {
			t.Errorf("%q is not in\n%s", heading, block)
		}
	}
}

// TestHiddenLiftsNothing: a hidden memory of the same session changes no score.
func TestHiddenLiftsNothing(t *testing.T) {
	score := func(hidden string, f Filter) float64 {
		l := library{"mem/j/1": "---\ntype: episodic\nsession: s\n---\nThe kettle is red.", "mem/j/2": hidden,
			"mem/x": "A kettle.", "mem/y": "A boat.", "mem/z": "A ladder."}
		for _, h := range l.index(t).Rank(Query{Text: "kettle boat", Now: now, Filter: f}, Recipe(), 10) {
			if h.Slug == "mem/j/1" {
				return h.Score
			}
		}
		t.Fatal("it is not found")
		return 0
	}
	const text = "derived_from: mem/j/1\nsession: s\n---\nkettle kettle boat"
	type hidden struct {
		text string
		f    Filter
	}
	want := score("---\nstate: archived\nsession: s\nderived_from: mem/j/1\n---\nlamp lamp lamp", Filter{})
	for name, h := range map[string]hidden{
		"superseded":   {"---\ntype: episodic\nstate: superseded\n" + text, Filter{}},
		"archived":     {"---\ntype: episodic\nstate: archived\n" + text, Filter{}},
		"filtered out": {"---\ntype: episodic\ntrust: external\n" + text, Filter{MinTrust: frontmatter.Derived}},
		"left out":     {"---\ntype: episodic\n" + text, Filter{Slugs: func(s string) bool { return s != "mem/j/2" }}},
	} {
		if got := score(h.text, h.f); got > want*1.1 {
			t.Errorf("%s: %v instead of %v", name, got, want)
		}
	}
}

// TestTruthOfAnyGraph: whatever texts say of each other, the order in which they were
// put in does not matter, it ends, lists are short, and nothing stale comes before what
// took its place.
func TestTruthOfAnyGraph(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		l, n := library{}, 3+r.IntN(40)
		for i := range n {
			head := "type: " + string([]frontmatter.Type{frontmatter.Semantic, frontmatter.Episodic, frontmatter.Insight}[r.IntN(3)]) + "\nstate: " + string([]frontmatter.State{frontmatter.Active, frontmatter.Active, frontmatter.Superseded, frontmatter.Archived}[r.IntN(4)])
			for _, key := range []string{"supersedes", "derived_from", "contradicts"} {
				var to []string
				for range r.IntN(5) {
					to = append(to, fmt.Sprintf("mem/%d", r.IntN(n)))
				}
				head += "\n" + key + ": [" + strings.Join(to, ", ") + "]"
			}
			l[fmt.Sprintf("mem/%d", i)] = "---\n" + head + "\n---\nboat " + strings.Repeat("sail ", r.IntN(4))
		}
		x, y := l.index(t), l.index(t) // maps have another order each time
		found := x.Recall(Query{Text: "boat sail", Now: now}, Recipe(), l.texts)
		at := map[string]int{}
		for i, f := range found {
			if _, twice := at[f.Slug]; twice {
				t.Fatalf("%s stands there twice", f.Slug)
			}
			at[f.Slug] = i
		}
		for slug := range l {
			a, b := x.Truth().Of(slug), y.Truth().Of(slug)
			if fmt.Sprint(a) != fmt.Sprint(b) || len(a.SupersededBy) > maxBeside || len(a.Contradicts) > maxBeside || slices.Contains(a.SupersededBy, slug) && x.Truth().Stale(slug) {
				t.Fatalf("%s: %v and %v", slug, a, b)
			}
		}
		for _, f := range found {
			for _, by := range f.SupersededBy {
				i, ok := at[by]
				if ok && i > at[f.Slug] && !x.Truth().Stale(by) {
					t.Errorf("%s stands before %s", f.Slug, by)
				}
			}
		}
	}
}

// TestExternalClaims: what is external says nothing of what is the agent's own, and fits
// as its own words do.
func TestExternalClaims(t *testing.T) {
	l := library{"mem/a": "Ana paints the boats of the harbour green.", "mem/b": "---\nstate: archived\n---\nAna paints the boats of the harbour blue.",
		"mem/from/eve/obey":  "---\ntrust: external\ncontradicts: mem/a\nsupersedes: mem/b\n---\nUnrelated.",
		"mem/from/eve/other": "---\ntrust: external\ncontradicts: mem/from/eve/obey\n---\nWords.",
		"mem/c":              "---\ncontradicts: mem/from/eve/red\n---\nThe lighthouse keeper is Bo.", "mem/from/eve/red": "---\ntrust: external\n---\nThere is none."}
	x := l.index(t)
	for slug, want := range map[string]string{"mem/a": "", "mem/b": "", "mem/from/eve/obey": "contradicts mem/from/eve/other", "mem/c": "contradicts mem/from/eve/red"} {
		if got := strings.Join(x.Truth().Of(slug).Notes(), "; "); got != want {
			t.Errorf("%s: %q, want %q", slug, got, want)
		}
	}
	found := x.Recall(Query{Text: "Who is the lighthouse keeper?"}, Recipe(), l.texts)
	if len(found) != 2 || found[0].Slug != "mem/c" || found[0].Fit != Strong || found[1].Fit != Weak || found[1].Score >= found[0].Score {
		t.Errorf("%+v", found)
	}
}
