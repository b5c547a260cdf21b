package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestRerank: what fits stands in the order of a scorer, and a scorer that fails
// changes nothing.
func TestRerank(t *testing.T) {
	texts := map[string]string{"mem/other": "Cats sleep."}
	for i := range reranked + 3 {
		texts[fmt.Sprintf("mem/boat%02d", i)] = fmt.Sprintf("---\ntags: [fleet]\n---\nBoat number %d is called %s.", i, strings.Repeat("x", i+1))
	}
	source := Local(keptCopy(t, texts), func() ([]string, bool) { return []string{relayURL}, true })
	recalled := func(q Query) (slugs []string) {
		t.Helper()
		err := source.Read(t.Context(), func(v View) error {
			a, err := Recall(v, q, now)
			for _, h := range a.Hits {
				slugs = append(slugs, h.Slug)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return slugs
	}
	q := Query{Text: "boat number", Budget: MaxBudget}
	plain := recalled(q)
	if len(plain) != reranked {
		t.Fatalf("recalled %v", plain)
	}

	failure := errors.New("no answer")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		name  string
		score Scorer
	}{
		{"fails", func(context.Context, string, []string) ([]float64, error) { return nil, failure }},
		{"too few", func(context.Context, string, []string) ([]float64, error) { return []float64{1}, nil }},
		{"gives up", func(ctx context.Context, _ string, _ []string) ([]float64, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	} {
		if err := Rerank(ctx, source, &q, now, c.score); err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if got := recalled(q); !slices.Equal(got, plain) {
			t.Errorf("%s: recalled %v", c.name, got)
		}
	}

	err := Rerank(t.Context(), source, &q, now, func(_ context.Context, query string, bodies []string) ([]float64, error) {
		if query != "boat number" || len(bodies) != reranked || strings.Contains(bodies[0], "fleet") {
			t.Errorf("asked for %q with %d texts: %q", query, len(bodies), bodies[0])
		}
		scores := make([]float64, len(bodies))
		for i := range scores {
			scores[i] = float64(i) - 50 // the last of them is the best, and some model's scores are below 0
		}
		return scores, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(plain)
	slices.Reverse(want)
	if got := recalled(q); !slices.Equal(got, want) {
		t.Errorf("recalled %v, want %v", got, want)
	}

	// Of a long memory it is the section that fits, and little of that: models take
	// some hundred words.
	long := Local(keptCopy(t, map[string]string{
		"mem/a": "---\ndescription: The harbour\n---\n" + strings.Repeat("Nothing that matters here. ", 40) + "\n\n# Zebra\n\nThe zebra is called Bo.\n\n" + strings.Repeat("Something else entirely. ", 40),
		"mem/b": "A zebra " + strings.Repeat("é", mostScored),
	}), func() ([]string, bool) { return []string{relayURL}, true })
	err = Rerank(t.Context(), long, &Query{Text: "zebra"}, now, func(_ context.Context, _ string, bodies []string) ([]float64, error) {
		for _, b := range bodies {
			if !strings.Contains(b, "zebra") || strings.Contains(b, "entirely") || len(b) > mostScored || !utf8.ValidString(b) {
				t.Errorf("%d bytes: %.200q", len(b), b)
			}
		}
		if len(bodies) != 2 || !strings.Contains(bodies[0]+bodies[1], "The harbour\n") {
			t.Errorf("%.300q", bodies)
		}
		return make([]float64, len(bodies)), nil
	})
	if err != nil {
		t.Error(err)
	}

	never := func(context.Context, string, []string) ([]float64, error) {
		t.Error("the scorer was asked")
		return nil, nil
	}
	var m *Mistake
	if err := Rerank(t.Context(), source, &Query{Text: "?"}, now, never); !errors.As(err, &m) {
		t.Errorf("a query without a word: %v", err)
	}
	if err := Rerank(t.Context(), source, &Query{Text: "zebra"}, now, never); err != nil {
		t.Error(err)
	}
}

// TestRerankSeesWhatMeaningFinds: the candidates of a scorer come from the matrix too.
func TestRerankSeesWhatMeaningFinds(t *testing.T) {
	texts := map[string]string{"mem/car": "The car needs winter tyres.", "mem/word": "Vehicle papers lie in the drawer."}
	for i := range 20 {
		texts[fmt.Sprintf("mem/%02d", i)] = fmt.Sprintf("The team eats soup number %d at noon.", i)
	}
	source, q := Local(keptCopy(t, texts), func() ([]string, bool) { return []string{relayURL}, true }), Query{Text: "vehicle wheels"}
	for _, q.Matrix = range [][]string{nil, {q.Text}} {
		seen := false
		err := Rerank(t.Context(), source, &q, now, func(_ context.Context, _ string, all []string) ([]float64, error) {
			seen = slices.ContainsFunc(all, func(s string) bool { return strings.TrimSpace(s) == texts["mem/car"] })
			return make([]float64, len(all)), nil
		})
		if err != nil || seen != (q.Matrix != nil) {
			t.Errorf("matrix %v: the scorer sees it: %v; %v", q.Matrix, seen, err)
		}
	}
}

// TestUnsentByMeaning: a text that waits on this machine is found by its meaning.
func TestUnsentByMeaning(t *testing.T) {
	texts := map[string]string{}
	for i := range 20 {
		texts[fmt.Sprintf("mem/%02d", i)] = fmt.Sprintf("The team eats soup number %d at noon.", i)
	}
	below := Local(keptCopy(t, texts), func() ([]string, bool) { return []string{relayURL}, true })
	source := Over(below, func(context.Context) []Unsent {
		return []Unsent{{Held: Held{Head{Slug: "mem/car"}, "The car needs winter tyres."}}}
	})
	q := Query{Text: "vehicle wheels"}
	for _, q.Matrix = range [][]string{nil, {q.Text}} {
		err := source.Read(t.Context(), func(v View) error {
			a, err := Recall(v, q, now)
			if found := len(a.Hits) > 0 && a.Hits[0].Slug == "mem/car" && a.Hits[0].Standing.Unsent; found != (q.Matrix != nil) {
				t.Errorf("matrix %v: %+v", q.Matrix, a.Hits)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
