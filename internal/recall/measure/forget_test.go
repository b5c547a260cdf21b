package measure

import (
	"strings"
	"testing"
)

// TestForgettingKeepsWhatIsAsked guards what activation keeps on the set that the
// repository makes, and that it is far from chance at every cut; links are left
// out of it because they bring nothing.
func TestForgettingKeepsWhatIsAsked(t *testing.T) {
	f, err := Forget(Synthetic(25, 2))
	if err != nil {
		t.Fatal(err)
	}
	at := map[string][]float64{}
	for _, w := range f.Ways {
		at[w.Name] = w.At10
		t.Logf("%s: %.3f", w.Name, w.At10)
	}
	ours := at["activation"]
	for i, least := range []float64{0.73, 0.60, 0.42} {
		if ours[i] < least || ours[i] < at["ENGRAM 0.1's utility"][i]+0.03 {
			t.Errorf("with %v of the tokens it finds %.3f, less than %.3f; ENGRAM 0.1's utility %.3f", KeptShares[i], ours[i], least, at["the seed's utility"][i])
		}
		if at["activation and links"][i] > ours[i]+0.01 {
			t.Errorf("links bring %.3f beside %.3f: they should count", at["activation and links"][i], ours[i])
		}
	}
	if ours[1] < at["random"][1]+0.1 || ours[2] < at["random"][2]+0.15 {
		t.Errorf("%.3f beside %.3f by chance", ours, at["random"])
	}
	var page strings.Builder
	if err := f.Print(&page); err != nil || f.Questions != 325 || !strings.Contains(page.String(), "| kept by | 75 % | 50 % | 25 % |") {
		t.Errorf("%d questions, %v: %s", f.Questions, err, page.String())
	}
}
