package measure

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// The form of LoCoMo, in words of our own.
const form = `[{"sample_id": "c1",
 "conversation": {"speaker_a": "Ana", "speaker_b": "Bo",
  "session_1_date_time": "1:56 pm on 8 May, 2023",
  "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "I bought a boat."}, {"speaker": "Bo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red boat"}],
  "session_2_date_time": "9:00 am on 2 June, 2023",
  "session_3_date_time": "10:37 am on 27 June, 2023",
  "session_3": [{"speaker": "Bo", "dia_id": "D3:1", "text": "We sailed."}]},
 "qa": [{"question": "What did Ana buy?", "answer": "a boat", "evidence": ["D1:1"], "category": 4},
  {"question": "What was shown, and what followed?", "evidence": ["D1:2; D:3:1", "D1:2", "D9:9"], "category": 1},
  {"question": "Who won?", "evidence": [], "category": 3}]}]`

func TestReadLoCoMo(t *testing.T) {
	set, err := ReadLoCoMo("form", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	m := set.Memories[0]
	may, june := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), time.Date(2023, 6, 27, 10, 37, 0, 0, time.UTC)
	want := []recall.Document{
		{Slug: "mem/1-0000", Body: "I bought a boat.", Who: []string{"Ana"}, Session: "session_1", When: may, Created: may},
		{Slug: "mem/1-0001", Body: "Look!\na red boat", Who: []string{"Bo"}, Session: "session_1", When: may, Created: may},
		{Slug: "mem/3-0000", Body: "We sailed.", Who: []string{"Bo"}, Session: "session_3", When: june, Created: june},
	}
	for i := range want {
		want[i].Type, want[i].State, want[i].Trust, want[i].Salience = frontmatter.Episodic, frontmatter.Active, frontmatter.Observed, frontmatter.DefaultSalience
	}
	if !reflect.DeepEqual(m.Documents, want) || !m.Now.Equal(june) || m.Name != "c1" {
		t.Errorf("%+v", m.Documents)
	}
	questions := []Question{{Text: "What did Ana buy?", Kind: "single-hop", Evidence: []string{"mem/1-0000"}},
		{Text: "What was shown, and what followed?", Kind: "multi-hop", Evidence: []string{"mem/1-0001", "mem/3-0000"}}, {Text: "Who won?", Kind: "open-domain"}}
	if !reflect.DeepEqual(m.Questions, questions) {
		t.Errorf("%+v", m.Questions)
	}
	if d, q := set.Size(); d != 3 || q != 2 {
		t.Errorf("%d documents, %d questions", d, q)
	}
	for name, text := range map[string]string{
		"no JSON": "{", "another form": `{"a": 1}`, "no questions": `[{"conversation": {}, "qa": []}]`, "nothing": "",
		"a time that is none": strings.Replace(form, "1:56 pm", "noon", 1), "turns that are none": strings.Replace(form, `[{"speaker": "Bo"`, `{"speaker": "Bo"`, 1),
	} {
		if _, err := ReadLoCoMo("x", strings.NewReader(text)); !errors.Is(err, ErrData) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReadLoCoMo: no file stops the reader.
func FuzzReadLoCoMo(f *testing.F) {
	f.Add(form)
	f.Fuzz(func(t *testing.T, text string) {
		if set, err := ReadLoCoMo("x", strings.NewReader(text)); err == nil && len(set.Memories) == 0 {
			t.Error("a set of nothing")
		}
	})
}

// Figures against ones that were worked out by hand.
func TestFigures(t *testing.T) {
	m := Memory{Questions: []Question{{Text: "one", Kind: "k", Evidence: []string{"a"}}, {Text: "two", Kind: "l", Evidence: []string{"a", "b"}}, {Text: "none", Kind: "k"}}}
	rank := func(q recall.Query) []Hit {
		if q.Text == "one" {
			return Hits([]string{"x", "a"})
		}
		return Hits([]string{"b", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "a"})
	}
	ticks := 0
	f, err := Run(&Set{Memories: []Memory{m}}, Config{Name: "hand", Make: func(*Memory) (Ranker, error) { return rank, nil }}, func() time.Time { ticks++; return time.Unix(int64(ticks*ticks), 0) })
	if err != nil {
		t.Fatal(err)
	}
	ndcg := (1/math.Log2(3) + 1/(1+1/math.Log2(3))) / 2
	if f.Questions != 2 || f.At1 != 0.25 || f.At5 != 0.75 || f.At10 != 0.75 || f.At20 != 1 || f.First != 0.5 || f.MRR != 0.75 || math.Abs(f.NDCG-ndcg) > 1e-12 {
		t.Errorf("%+v", f)
	}
	if f.Median != 7*time.Second || f.P95 != 7*time.Second || !reflect.DeepEqual(f.ByKind, []KindFigures{{"k", 1, 1, 1}, {"l", 1, 0.5, 0.5}}) {
		t.Errorf("%+v", f)
	}
}

// The same seed makes the same set; each question's evidence is there.
func TestSynthetic(t *testing.T) {
	set := Synthetic(20, 7)
	if again := Synthetic(20, 7); !reflect.DeepEqual(set, again) || reflect.DeepEqual(set, Synthetic(20, 8)) {
		t.Error("the seed does not make the set")
	}
	m, slugs := set.Memories[0], map[string]bool{}
	for _, d := range m.Documents {
		if slugs[d.Slug] || d.When.After(m.Now) {
			t.Errorf("%s, of %v", d.Slug, d.When)
		}
		slugs[d.Slug] = true
	}
	for _, q := range m.Questions {
		for _, slug := range q.Evidence {
			if !slugs[slug] {
				t.Errorf("%q is answered by %s, which is not there", q.Text, slug)
			}
		}
		if (q.Kind == "nothing") != (len(q.Evidence) == 0) {
			t.Errorf("%+v", q)
		}
	}
	sizes, err := SizeOf(set, time.Now)
	if err != nil || sizes.Documents != len(slugs) || sizes.BlobBytes == 0 || !strings.Contains(sizes.String(), fmt.Sprint(sizes.BlobBytes)) {
		t.Errorf("%s, %v", sizes, err)
	}
}

// In questions of others stand names that the memory knows.
func TestForeignQuestions(t *testing.T) {
	one, err := ReadLoCoMo("form", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	two := Memory{Documents: []recall.Document{{Who: []string{"Cleo"}}}}
	if got := renamed(&one.Memories[0], &two)[0].Text; got != "What did Cleo buy?" || one.Memories[0].Questions[0].Text != "What did Ana buy?" {
		t.Error(got)
	}
	both := &Set{Memories: []Memory{one.Memories[0], two, {}}}
	AskForeign(both)
	if q := both.Memories[1].Questions; len(q) != 3 || !reflect.DeepEqual(q[0], Question{Text: "What did Cleo buy?", Kind: "of another memory"}) || len(both.Memories[0].Questions) != 3 || both.Memories[2].Questions != nil {
		t.Errorf("%+v", both.Memories)
	}
}

// TestReadAtOnce: any number may read an index at once. It is here for the race
// detector, which the tests of recall itself do without.
func TestReadAtOnce(t *testing.T) {
	set := Synthetic(3, 1)
	m := &set.Memories[0]
	x, err := BuildIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (found []recall.Found) {
		for _, q := range m.Questions[:20] {
			found = append(found, x.Recall(recall.Query{Text: q.Text, Now: m.Now}, recall.Recipe(), m.texts())...)
		}
		return found
	}
	want := ask()
	if len(want) < 20 {
		t.Fatalf("it finds %v", want)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := ask(); !reflect.DeepEqual(got, want) {
				t.Errorf("%v, not %v", got, want)
			}
		})
	}
	all.Wait()
}
