package measure

import (
	"testing"
	"time"

	"engramd/internal/memory/recall"
)

// TestRecallReaches guards what recall reaches on the set that the repository
// makes: a weight, a list of words or a stem that is lost shows here.
func TestRecallReaches(t *testing.T) {
	set := Synthetic(60, 1)
	f, err := Run(set, Weighted("recipe", recall.Recipe()), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("recall@5 %.3f, @10 %.3f, @20 %.3f, first %.3f, MRR %.3f, nDCG %.3f", f.At5, f.At10, f.At20, f.First, f.MRR, f.NDCG)
	for _, must := range []struct {
		name        string
		is, atLeast float64
	}{{"recall@5", f.At5, 0.95}, {"recall@10", f.At10, 0.95}, {"recall@20", f.At20, 0.96}, {"first", f.First, 0.82}, {"MRR", f.MRR, 0.90}, {"nDCG@10", f.NDCG, 0.89}} {
		if must.is < must.atLeast {
			t.Errorf("%s is %.3f, less than %.3f", must.name, must.is, must.atLeast)
		}
	}
	kinds := map[string]float64{"answer": 1, "date": 0.93, "fact": 1, "inflected": 1, "link": 0.5, "newest": 1, "person": 1, "salience": 1, "slug": 1, "typo": 0.96, "update": 1}
	for _, k := range f.ByKind {
		atLeast, known := kinds[k.Kind]
		if delete(kinds, k.Kind); !known || k.At10 < atLeast {
			t.Errorf("%s: recall@10 is %.3f, less than %.3f", k.Kind, k.At10, atLeast)
		}
	}
	if len(kinds) > 0 {
		t.Errorf("no question of %v", kinds)
	}
	returned, err := Run(set, Returned("returned", recall.Recipe()), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if returned.At10 < 0.87 || returned.FalseStrong > 0.03 || returned.Unanswered == 0 {
		t.Errorf("returned: recall@10 %.3f; strong at %.3f of %d questions without an answer", returned.At10, returned.FalseStrong, returned.Unanswered)
	}
}

// TestRecipeBeatsOthers: BM25 alone stays far behind, and no single weight of the recipe is worth taking off.
func TestRecipeBeatsOthers(t *testing.T) {
	set := Synthetic(25, 2)
	var best Figures
	for i, c := range Configs() {
		f, err := Run(set, c, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			best = f
		}
		if f.NDCG > best.NDCG+0.02 || f.At10 > best.At10+0.01 {
			t.Errorf("%s is better: nDCG %.3f and %.3f, recall@10 %.3f and %.3f", f.Name, f.NDCG, best.NDCG, f.At10, best.At10)
		}
		if c.Name == "BM25 of sections alone" && f.At10 > best.At10-0.2 {
			t.Errorf("%s reaches %.3f beside %.3f", c.Name, f.At10, best.At10)
		}
	}
}
