package recalled

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
)

const notes = `{"project": "harbour", "talk": ["", "One more thing: "], "memories": [
 {"slug": "mem/harbour/pilot", "text": "The pilot boat is called Marlin."}, {"slug": "mem/harbour/crane", "text": "The crane lifts forty tons."},
 {"slug": "mem/harbour/lock", "text": "The lock opens at high water."}],
 "questions": [{"q": "What is the pilot boat called?", "kind": "direct", "expect": ["mem/harbour/pilot"]}, {"q": "How much does the crane lift, and when does the lock open?", "kind": "two", "expect": ["mem/harbour/crane", "mem/harbour/lock"]},
 {"q": "Who paints the hull?", "kind": "none"}, {"q": "Please look after the lock.", "kind": "prompt", "expect": ["mem/harbour/lock"]}]}`

func read(t *testing.T, name, text string) *measure.Set {
	t.Helper()
	set, err := measure.Read(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// clock stands still, so that the tables are the same each time.
func clock() time.Time { return time.Unix(0, 0) }

// Each way finds what is asked for by its own words, and the table has a line for
// each.
func TestWays(t *testing.T) {
	all, err := Run(t.Context(), []*measure.Set{read(t, "harbour", notes)}, Ways(nil), clock)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range all {
		if names = append(names, r.Name); r.Questions != 3 || r.Answers == nil && r.At10 != 1 {
			t.Errorf("%s: %+v", r.Name, r.Figures)
		}
	}
	if want := []string{"found", "returned", "told", "search", "BM25, stems and stop words", "BM25, plain words", "SQLite FTS5", "ENGRAM 0.1"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v", names)
	}
	var page strings.Builder
	if err := Print(&page, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| harbour | found | 3 | 83.3 | 100.0 | 100.0 | 100.0 | 1.000 | 1.000 | – |", "| harbour | SQLite FTS5 | 3 |", "| harbour | 3 | 100.0 / 100.0 | ", "| harbour | two | 1 | 100.0 / 100.0 |"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(page.String()), "\n")[4:14] {
		if n := strings.Count(line, "|"); n != 20 {
			t.Errorf("line %d has %d bars: %s", i, n, line)
		}
	}
}

// What is stopped ends at once, and says so.
func TestStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	sets, asked := []*measure.Set{read(t, "harbour", notes)}, 0
	stopping := measure.Config{Name: "stopping", Make: func(*measure.Memory) (measure.Ranker, error) {
		return func(recall.Query) []measure.Hit { asked++; stop(); return nil }, nil
	}}
	if _, err := Run(ctx, sets, []measure.Config{stopping, stopping}, clock); !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("%v after %d questions", err, asked)
	}
	if _, err := Offs(ctx, sets, nil, clock); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// FTS5 answers whatever is asked, and what it cannot read has no hits.
func TestMatchTakesAnything(t *testing.T) {
	rank, err := FTS5().Make(&read(t, "harbour", notes).Memories[0])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{`"pilot`: 1, `pilot" OR "crane`: 2, "": 0, "?": 0, "a* NEAR(pilot) -crane": 1, "x\x00pilot": 1} {
		if hits := rank(recall.Query{Text: text}); len(hits) != want {
			t.Errorf("%q: %v", text, hits)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{"Der Müller's go1.26": {"der", "müller", "s", "go1", "26"}, "东京塔!": {"东京", "京塔"}, "塔": {"塔"}, "v2东京": {"v2", "东京"}, "": nil} {
		if got := words(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Talk stands before the questions that have an answer and are no prompts.
func TestLong(t *testing.T) {
	set := read(t, "harbour", notes)
	all := Long(set)
	if len(all) != 2 || all[1].Name != "harbour, 3 words before" || len(all[1].Memories[0].Questions) != 2 || all[1].Memories[0].Questions[0].Text != "One more thing: What is the pilot boat called?" {
		t.Errorf("%+v", all)
	}
	if set.Talk = nil; len(Long(set)) != 5 {
		t.Errorf("%d lengths of its own", len(Long(set)))
	}
	var lengths []int
	for _, text := range talk {
		lengths = append(lengths, len(strings.Fields(text)))
	}
	if want := []int{0, 5, 21, 53, 105}; !reflect.DeepEqual(lengths, want) {
		t.Errorf("%v words of talk", lengths)
	}
	if set.Memories[0].Questions[0].Text != "What is the pilot boat called?" {
		t.Error("the set itself was changed")
	}
}

// Collections hold the answers to what they are asked, by the same seed the same.
func TestSmall(t *testing.T) {
	set := read(t, "harbour", notes)
	all := Small(set, 5)
	if len(all) != 2 || all[0].Name != "harbour, collections of 1" || !reflect.DeepEqual(all, Small(set, 5)) || reflect.DeepEqual(all, Small(set, 6)) {
		t.Fatalf("%d sets", len(all))
	}
	for i, size := range []int{1, 2} {
		for _, m := range all[i].Memories {
			if len(m.Documents) != size || len(m.Questions) == 0 {
				t.Errorf("%d documents and %d questions of %d", len(m.Documents), len(m.Questions), size)
			}
			for _, q := range m.Questions {
				for _, slug := range q.Evidence {
					if !slices.ContainsFunc(m.Documents, func(d recall.Document) bool { return d.Slug == slug }) {
						t.Errorf("%q is not answered", q.Text)
					}
				}
			}
		}
	}
}

// Prompts that bear on nothing are asked of sets with talk alone.
func TestShare(t *testing.T) {
	prompts := read(t, "unrelated", `{"unrelated": {"en": ["Tell me a joke", "Sing"]}}`)
	other := read(t, "notes", `{"memories": [{"slug": "mem/a", "text": "b"}], "questions": [{"q": "b", "expect": ["mem/a"]}]}`)
	set := read(t, "harbour", notes)
	got := Share([]*measure.Set{prompts, set, other})
	if len(got) != 2 || len(got[0].Memories[0].Questions) != 6 || len(got[1].Memories[0].Questions) != 1 || len(set.Memories[0].Questions) != 4 {
		t.Errorf("%+v", got)
	}
	if Every(set, 3).Memories[0].Questions[1].Kind != "prompt" {
		t.Error("not every third question")
	}
}

// What goes wrong is printed, and nothing else.
func TestMisses(t *testing.T) {
	set := read(t, "harbour", notes)
	hand := measure.Config{Name: "hand", Answers: true, Make: func(*measure.Memory) (measure.Ranker, error) {
		return func(q recall.Query) []measure.Hit {
			return []measure.Hit{{Slug: "mem/harbour/lock", Strong: true}, {Slug: "mem/harbour/pilot"}}
		}, nil
	}}
	var out strings.Builder
	if _, err := Run(t.Context(), []*measure.Set{set}, []measure.Config{Misses(&out, hand)}, clock); err != nil {
		t.Fatal(err)
	}
	want := `hand, harbour, two: "How much does the crane lift, and when does the lock open?" wants ["mem/harbour/crane" "mem/harbour/lock"], got 2: ["mem/harbour/lock (strong)" "mem/harbour/pilot"]
hand, harbour, none: "Who paints the hull?" wants [], got 2: ["mem/harbour/lock (strong)" "mem/harbour/pilot"]
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

// A weight may cost a point or two questions, and nothing on a strict set.
func TestCosts(t *testing.T) {
	figures := func(questions int, at10, precision float64) *measure.Figures {
		return &measure.Figures{Questions: questions, At10: at10, Answers: &measure.Answers{Precision: precision}}
	}
	for name, tt := range map[string]struct {
		strict        bool
		with, without *measure.Figures
		want          []string
	}{
		"a point of many":     {false, figures(1000, 0.50, 0), figures(1000, 0.51, 0), nil},
		"more than a point":   {false, figures(1000, 0.50, 0), figures(1000, 0.52, 0), []string{"x (returned, recall@10: 2.0)"}},
		"two questions of 20": {false, figures(20, 0.50, 0), figures(20, 0.60, 0), nil},
		"three of 20":         {false, figures(20, 0.50, 0), figures(20, 0.65, 0), []string{"x (returned, recall@10: 15.0)"}},
		"precision":           {false, figures(20, 0.50, 0.2), figures(20, 0.50, 0.9), nil},
		"strict":              {true, figures(20, 0.50, 0.2), figures(20, 0.50, 0.3), []string{"x (returned, precision: 10.0)"}},
	} {
		if got, early := costs(&measure.Set{Name: "x", Strict: tt.strict}, tt.with, tt.without, "returned"); !reflect.DeepEqual(got, tt.want) || early != nil {
			t.Errorf("%s: %v %v", name, got, early)
		}
	}
}

// What is lost early in the ranking is said apart, but on a strict set.
func TestEarly(t *testing.T) {
	with, without := &measure.Figures{Questions: 1000, First: 0.4}, &measure.Figures{Questions: 1000, First: 0.5}
	if got, early := costs(&measure.Set{Name: "x"}, with, without, "found"); got != nil || !reflect.DeepEqual(early, []string{"x (found, first: 10.0)"}) {
		t.Errorf("%v %v", got, early)
	}
	if got, early := costs(&measure.Set{Name: "x", Strict: true}, with, without, "found"); early != nil || !reflect.DeepEqual(got, []string{"x (found, first: 10.0)"}) {
		t.Errorf("%v %v", got, early)
	}
}

// Every weight has a line, and a column for each set.
func TestOffs(t *testing.T) {
	sets := []*measure.Set{read(t, "harbour", notes), measure.Synthetic(2, 1)}
	all, err := Offs(t.Context(), sets, nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := PrintOffs(&page, sets, all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1+len(measure.Offs()) || !strings.Contains(page.String(), "| without | harbour | synthetic, 2 subjects, seed 1 |") || !strings.Contains(page.String(), "\n| Who | 100.0 / ") || !strings.Contains(page.String(), "cost") {
		t.Errorf("%s", page.String())
	}
}
