package measure

import (
	"strings"
	"testing"
)

// TestForgettingKeepsWhatIsAsked guards that activation keeps what is asked, against
// other ways on the same sets: what one set finds differs by 5 points with its seed.
// The limits were chosen after seeds 2 to 8 had been looked at, with about half of
// the distance left; the seeds here are none of them. At the first cut activation is
// a little above or below chance, as the seed has it: it is held not to be far below.
func TestForgettingKeepsWhatIsAsked(t *testing.T) {
	seeds := []uint64{11, 12, 13}
	at := map[string][]float64{}
	for _, seed := range seeds {
		f, err := Forget(Synthetic(25, seed))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range f.Ways {
			t.Logf("seed %d, %s: %.3f", seed, w.Name, w.At10)
			if at[w.Name] == nil {
				at[w.Name] = make([]float64, len(KeptShares))
			}
			for i, v := range w.At10 {
				at[w.Name][i] += v / float64(len(seeds))
			}
		}
	}
	for other, least := range map[string][]float64{
		"random":               {-0.05, 0.08, 0.12},
		"LRU":                  {-0.05, 0.08, 0.10},
		"ACT-R":                {0.05, 0.10, 0.10},
		"ENGRAM 0.1's utility": {-0.05, 0.08, 0.10},
		"activation and links": {-0.02, -0.02, -0.02}, // or they should count
	} {
		if len(at[other]) != len(KeptShares) {
			t.Errorf("%s is not measured", other)
			continue
		}
		for i, share := range KeptShares {
			if ours := at["activation"][i]; ours < at[other][i]+least[i] {
				t.Errorf("with %v of the tokens activation finds %.3f, %s %.3f: want at least %+.2f", share, ours, other, at[other][i], least[i])
			}
		}
	}
}

// TestForgettingPrints says how many questions there were, and all ways.
func TestForgettingPrints(t *testing.T) {
	f, err := Forget(Synthetic(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := f.Print(&page); err != nil || f.Questions != 26 || !strings.Contains(page.String(), "| kept by | 75 % | 50 % | 25 % |") {
		t.Errorf("%d questions, %v: %s", f.Questions, err, page.String())
	}
	for _, w := range f.Ways {
		if !strings.Contains(page.String(), "\n| "+w.Name+" | ") {
			t.Errorf("%s is not in %s", w.Name, page.String())
		}
	}
}
