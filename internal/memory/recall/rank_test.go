package recall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
)

func episode(slug, session, who, text string, minute int) Document {
	d := memory(slug, text)
	d.Type, d.Session, d.Who = frontmatter.Episodic, session, []string{who}
	d.When = time.Date(2026, 5, 8, 13, minute, 0, 0, time.UTC)
	return d
}

// What comes first, and why.
func TestWhatComesFirst(t *testing.T) {
	docs := []Document{
		memory("mem/people/ana", "Prefers coffee to tea, and went to Porto in spring."),
		memory("mem/people/bo-lind", "Sails. Likes tea."),
		memory("mem/projects/atlas", "---\ndescription: The map service\ntags: [maps]\n---\n# Storage\n\nData lies in SQLite.\n\n# People\n\nSee [[mem/people/ana]]."),
		memory("mem/web/page", "---\ntrust: external\n---\nData lies in SQLite."),
		memory("mem/old", "---\nstate: superseded\n---\nData lies in Redis."),
		memory("mem/new", "---\nsupersedes: mem/old\n---\nData does not lie in Badger."),
		episode("mem/j/1", "s1", "Ana", "Hello!", 1),
		episode("mem/j/2", "s1", "Bo Lind", "What broke the build?", 2),
		episode("mem/j/3", "s1", "Ana", "A certificate was too old.", 3),
		episode("mem/j/4", "s1", "Bo Lind", "I repaired it yesterday.", 4),
		episode("mem/j/5", "s2", "Bo Lind", "I like Porto.", 5),
		memory("mem/feelings/glad", "---\nemotion: {joy: 0.9}\n---\nThe review of the parser."),
		memory("mem/feelings/sad", "---\nemotion: {fear: 0.9}\n---\nThe review of the parser."),
		memory("mem/ja", "東京で寿司を食べた。"),
	}
	x := indexOf(t, docs...)
	for _, tt := range []struct {
		name  string
		query Query
		first string
		why   Reasons
	}{
		{"an inflected form", Query{Text: "Who goes to Porto?"}, "mem/people/ana", ByWords},
		{"a question mark and stop words", Query{Text: "what is it that lies in sqlite???"}, "mem/projects/atlas", ByWords},
		{"the slug's words", Query{Text: "atlas storage"}, "mem/projects/atlas", ByWords},
		{"the description", Query{Text: "map service"}, "mem/projects/atlas", ByWords},
		{"a typo", Query{Text: "certifcate"}, "mem/j/3", ByWords},
		{"an answer without the question's words", Query{Text: "Which certificate broke the build for Ana?"}, "mem/j/3", ByWords | ByPerson},
		{"a person", Query{Text: "What does Bo like to drink, coffee or tea?"}, "mem/people/bo-lind", ByWords | ByPerson},
		{"a person in lower case", Query{Text: "what does bo lind like"}, "mem/people/bo-lind", ByWords | ByPerson},
		{"a person alone", Query{Text: "Ana"}, "mem/people/ana", ByWords | ByPerson},
		{"an accent", Query{Text: "áná coffée"}, "mem/people/ana", ByWords | ByPerson},
		{"a time that is asked for", Query{Text: "When was it repaired?"}, "mem/j/4", ByWords},
		{"an emotion", Query{Text: "review of the parser", Emotion: [8]float64{1}}, "mem/feelings/glad", ByWords},
		{"another emotion", Query{Text: "review of the parser", Emotion: [8]float64{6: 1}}, "mem/feelings/sad", ByWords},
		{"a script without blanks", Query{Text: "寿司"}, "mem/ja", ByWords},
		{"what is superseded, if asked for", Query{Text: "Redis", Filter: Filter{States: []frontmatter.State{frontmatter.Superseded}}}, "mem/old", ByWords},
		{"trust", Query{Text: "data lies", Filter: Filter{Prefix: "mem/web"}}, "mem/web/page", ByWords},
	} {
		tt.query.Now = now
		hits := x.Rank(tt.query, Recipe(), 5)
		if len(hits) == 0 || hits[0].Slug != tt.first || hits[0].Why&^(ByTime|ByLink) != tt.why {
			t.Errorf("%s: %+v", tt.name, hits)
		}
	}
	for _, text := range []string{"", "?", "the of and", "zebra", strings.Repeat("x", 100), "\xff", `""`} {
		if hits := x.Rank(Query{Text: text, Now: now}, Recipe(), 5); len(hits) != 0 {
			t.Errorf("%q finds %+v", text, hits)
		}
	}
}

// Each weight does what its name says: without it the other document is first.
func TestEachWeightCounts(t *testing.T) {
	older := func(d Document) Document { d.When = now.AddDate(-1, 0, 0); return d }
	salient := func(d Document) Document { d.Salience = 1; return d }
	for _, tt := range []struct {
		name  string
		off   func(*Weights)
		docs  []Document // the first shall win; equal ones are found by slug
		query string
	}{
		{"trust", func(w *Weights) { w.External = 1 }, []Document{memory("mem/2", "boat"), memory("mem/1", "---\ntrust: external\n---\nboat")}, "boat"},
		{"derived", func(w *Weights) { w.Derived = 1 }, []Document{memory("mem/2", "boat"), memory("mem/1", "---\ntrust: derived\n---\nboat")}, "boat"},
		{"who", func(w *Weights) { w.Who = 0 }, []Document{episode("mem/2", "1", "Ana", "boat", 1), episode("mem/1", "2", "Bo", "boat", 1)}, "Ana's boat"},
		{"date", func(w *Weights) { w.Date = 0 }, []Document{older(memory("mem/2", "boat")), memory("mem/1", "boat")}, "boat in November 2025"},
		{"timely", func(w *Weights) { w.Timely = 0 }, []Document{memory("mem/2", "boat yesterday"), memory("mem/1", "boat garden")}, "When was the boat?"},
		{"asked", func(w *Weights) { w.Asked = 0 }, []Document{memory("mem/2", "boat garden"), memory("mem/1", "boat garden?")}, "boat"},
		{"recency", func(w *Weights) { w.Recency = 0 }, []Document{memory("mem/2", "boat"), older(memory("mem/1", "boat")), memory("mem/3", "boat cellar dinner engine")}, "boat"},
		{"salience", func(w *Weights) { w.Salience = 0 }, []Document{salient(memory("mem/2", "boat")), memory("mem/1", "boat"), memory("mem/3", "boat cellar dinner engine")}, "boat"},
		{"links", func(w *Weights) { w.Linked = 0 }, []Document{memory("mem/2", "boat"), memory("mem/1", "boat"), memory("mem/3", "boat boat cellar [[mem/2]]")}, "boat cellar"},
		{"group", func(w *Weights) { w.Group = 0 }, []Document{episode("mem/2", "1", "A", "boat", 1), episode("mem/1", "2", "A", "boat", 1), episode("mem/3", "1", "A", "jungle", 2), episode("mem/4", "1", "A", "garden", 3), episode("mem/5", "1", "A", "engine", 4)}, "boat engine"},
	} {
		x, w := indexOf(t, tt.docs...), Recipe()
		place := func(w Weights) int {
			hits := x.Rank(Query{Text: tt.query, Now: now}, w, 10)
			find := func(slug string) int { return slices.IndexFunc(hits, func(h Hit) bool { return h.Slug == slug }) }
			return find(tt.docs[1].Slug) - find(tt.docs[0].Slug)
		}
		if place(w) <= 0 {
			t.Errorf("%s: %v", tt.name, x.Rank(Query{Text: tt.query, Now: now}, w, 10))
		}
		if tt.off(&w); place(w) > 0 {
			t.Errorf("without %s the order is the same", tt.name)
		}
	}
}

// What stands beside what answers is found too, most of all behind a question.
func TestNeighbours(t *testing.T) {
	x := indexOf(t,
		episode("mem/1", "s", "A", "zero zero", 1), episode("mem/2", "s", "A", "something", 2), episode("mem/3", "s", "A", "engine trouble", 3),
		episode("mem/4", "s", "A", "nothing", 4), episode("mem/5", "s", "A", "nobody", 5), episode("mem/6", "s", "A", "elsewhere", 6))
	w := Recipe()
	w.Group, w.Recency = 0, 0
	score := func(slug string) float64 {
		for _, h := range x.Rank(Query{Text: "engine"}, w, 10) {
			if h.Slug == slug {
				return h.Score
			}
		}
		return 0
	}
	if !(score("mem/3") > score("mem/2") && score("mem/2") > 0 && score("mem/3") > score("mem/5") && score("mem/4") > 0 && score("mem/5") > 0) || score("mem/6") != 0 || score("mem/1") != 0 {
		t.Errorf("%v", x.Rank(Query{Text: "engine"}, w, 10))
	}
	before := score("mem/4")
	if err := x.Put(episode("mem/3", "s", "B", "engine trouble?", 3)); err != nil {
		t.Fatal(err)
	}
	if score("mem/4") <= before*2 {
		t.Errorf("an answer has %v, and had %v", score("mem/4"), before)
	}
	// Without a session there are no neighbours.
	for i, slug := range []string{"mem/2", "mem/3", "mem/4"} {
		if err := x.Put(episode(slug, "", "A", []string{"something", "engine", "nothing"}[i], i)); err != nil {
			t.Fatal(err)
		}
	}
	if score("mem/2")+score("mem/4") != 0 {
		t.Error("there are neighbours without a session")
	}
}

func TestFilters(t *testing.T) {
	dated := func(d Document, when string) Document { d.When = at(when); return d }
	x := indexOf(t,
		dated(memory("mem/a/1", "---\ntype: insight\ntags: [x, y]\n---\nboat"), "2026-01-01"),
		dated(memory("mem/a/2", "---\ntags: [x]\ntrust: external\n---\nboat boat cellar"), "2026-02-01"),
		dated(memory("mem/b", "---\nstate: archived\ntrust: told\n---\nboat boat boat cellar garden"), "2026-03-01"))
	for _, tt := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "mem/a/1 mem/a/2"},
		{Filter{Types: []frontmatter.Type{frontmatter.Insight}}, "mem/a/1"},
		{Filter{Types: []frontmatter.Type{frontmatter.Insight, frontmatter.Semantic}}, "mem/a/1 mem/a/2"},
		{Filter{Tags: []string{"x"}}, "mem/a/1 mem/a/2"},
		{Filter{Tags: []string{"x", "y"}}, "mem/a/1"},
		{Filter{Prefix: "mem/b"}, ""},
		{Filter{States: []frontmatter.State{frontmatter.Archived}}, "mem/b"},
		{Filter{States: []frontmatter.State{frontmatter.Archived, frontmatter.Active}, MinTrust: frontmatter.Observed}, "mem/a/1 mem/b"},
		{Filter{Since: at("2026-02-01")}, "mem/a/2"},
		{Filter{Until: at("2026-02-01")}, "mem/a/1"},
		{Filter{Since: at("2026-02-02")}, ""},
	} {
		got := strings.Fields(slugs(x, Query{Text: "boat", Filter: tt.f}))
		if slices.Sort(got); strings.Join(got, " ") != tt.want {
			t.Errorf("%+v finds %v, not %q", tt.f, got, tt.want)
		}
	}
}

// Vectors bring what words do not have, and words what they have.
func TestMeaning(t *testing.T) {
	x := indexOf(t, memory("mem/1", "feline"), memory("mem/2", "boat"), memory("mem/3", "boat jungle cellar forest"), memory("mem/4", "engine"))
	near := map[string]float64{"mem/1": 0.9, "mem/2": 0.1, "mem/3": 0.1, "mem/4": 0.05}
	q := Query{Text: "cat boat", Near: by(func(slug string, section int) (float64, bool) { c, ok := near[slug]; return c, ok && section == 0 })}
	hits := x.Rank(q, Recipe(), 10)
	a := slices.IndexFunc(hits, func(h Hit) bool { return h.Slug == "mem/1" })
	b := slices.IndexFunc(hits, func(h Hit) bool { return h.Slug == "mem/2" })
	// mem/4 is compared and has no reason: its cosine is one like others.
	if len(hits) != 3 || a != 0 || hits[a].Why != ByMeaning || hits[a].Cosine != 0.9 || b != 1 || hits[b].Why != ByWords {
		t.Errorf("%+v", hits)
	}
	// Vectors that are missing or no numbers leave words.
	for _, c := range []func(string, int) (float64, bool){func(string, int) (float64, bool) { return 0, false }, func(string, int) (float64, bool) { return nan(), true }} {
		q.Near = by(c)
		if hits := x.Rank(q, Recipe(), 10); len(hits) != 2 || hits[0].Slug != "mem/2" {
			t.Errorf("%+v", hits)
		}
	}
}

// by is a model whose cosines of texts that have nothing to do with each other are 0.1.
func by(cosine func(slug string, section int) (float64, bool)) Near {
	return func(string) (Nearness, bool) { return Nearness{Cosine: cosine, Mean: 0.1, Deviation: 0.1}, true }
}

// TestOneWordByChance: a word that one memory happens to have of a question says less than
// a meaning that stands out; in another language what is shared is a name, and says more.
func TestOneWordByChance(t *testing.T) {
	l := library{"mem/queue": "Priority texts are parsed as numbers.", "mem/first": "The first boat has a blue mast."}
	for i := range 20 {
		l[fmt.Sprintf("mem/%02d", i)] = fmt.Sprintf("The cellar number %d has shelves.", i)
	}
	x := l.index(t)
	for query, want := range map[string]string{
		"were urgent requests in hospital served first": "mem/queue", "wurden die dringenden Proben nicht in blue bedient": "mem/first",
	} {
		near := by(func(slug string, _ int) (float64, bool) {
			if slug == "mem/queue" {
				return 0.3, true
			}
			return 0.1 + 0.04*float64(slug[len(slug)-1]%5), true
		})
		if hits := x.Rank(Query{Text: query, Near: near}, Recipe(), 5); len(hits) < 2 || hits[0].Slug != want {
			t.Errorf("%q finds %+v", query, hits)
		}
	}
}

// TestLongTextsFindByWords: the meaning of a long text is that of its talk. It brings
// nothing that has none of its words, makes nothing strong, and asks in another language alone.
func TestLongTextsFindByWords(t *testing.T) {
	x := shop().index(t)
	near := by(func(slug string, _ int) (float64, bool) { return map[string]float64{"mem/garden/tap": 0.9}[slug], true })
	talk := "Good morning, the train was crowded again and somebody stood on my foot for half of the way, so bear with me today. "
	for query, found := range map[string]bool{
		talk + "Who copies the bookkeeper's ledger?": false, "Where does water drip?": true,
		"Buenos días, el tren estaba otra vez lleno y alguien me pisó el pie durante la mitad del viaje, así que tened un poco de paciencia conmigo. ¿Dónde gotea el agua?": true,
	} {
		hits := x.Rank(Query{Text: query, Near: near}, Recipe(), 10)
		at := slices.IndexFunc(hits, func(h Hit) bool { return h.Slug == "mem/garden/tap" && h.Why&ByMeaning != 0 })
		if at >= 0 != found {
			t.Errorf("%q finds %+v", query, hits)
		}
	}
}

// TestToldByAPart: where meaning is compared, two words of a long prompt tell a memory only
// if its meaning stands out at their part; that of the whole or of another tells nothing.
func TestToldByAPart(t *testing.T) {
	x, l := shop().index(t), shop()
	const asks = "Then see whether the washer fits the shed before colleagues buy another catalogue, magazine, umbrella, lantern or turntable."
	prompt := "Good morning, the train was crowded again and somebody stood on my foot for half of the way. " + asks
	for name, c := range map[string]struct {
		near Near
		told string
	}{
		"words":     {nil, "mem/garden/tap"},
		"its part":  {only(asks, "mem/garden/tap"), "mem/garden/tap"},
		"the whole": {only(prompt, "mem/garden/tap"), ""},
		"another":   {only(asks, "mem/travel/ferry"), ""},
	} {
		if told := names(x.Told(Query{Text: prompt, Now: now, Near: c.near}, Recipe(), l.texts)); told != c.told {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

// only is near to one memory at one text, and to none at others.
func only(text, slug string) Near {
	return func(asked string) (Nearness, bool) {
		return Nearness{Mean: 0.1, Deviation: 0.1, Cosine: func(s string, _ int) (float64, bool) {
			if s == slug && strings.TrimSpace(asked) == text {
				return 0.8, true
			}
			return 0.01 * float64(len(s)%7), true
		}}, true
	}
}

func nan() float64 { var zero float64; return zero / zero }

// TestUnitsKnowTheFirst: the best cosine and the sixth are those of all in order.
func TestUnitsKnowTheFirst(t *testing.T) {
	for n := range 30 {
		var near []best
		var in []int32
		for i := range n + 1 {
			near, in = append(near, best{cosine: float64((i*7+n)%31) / 31}), append(in, int32(i))
		}
		u := Nearness{Deviation: 0.1}.units(near, in)
		slices.SortFunc(near, func(a, b best) int { return cmp.Compare(b.cosine, a.cosine) })
		if u.best != near[0].cosine || u.sixth != near[min(sixth, n)].cosine {
			t.Errorf("%d: %v and %v", n, u.best, u.sixth)
		}
	}
}
