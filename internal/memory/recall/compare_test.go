package recall

import (
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
)

// Two texts that are alike but for the word that matters are said to differ in
// it, as it was written, wherever in them it stands.
func TestCompareNamesWhatDiffers(t *testing.T) {
	x := New()
	texts := map[string]string{"mem/cup": "Ana's cup is purple.", "mem/boat": "The boat lies in the harbour of Lisbon."}
	for slug, text := range texts {
		if err := x.Put(Of(slug, frontmatter.Parse(text), time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
	}
	long := "# Monday\n" + strings.Repeat("We spoke about boats and weather for most of the day. ", 30) + "\n\n# Tuesday\nAna bought a cup, and it is cyan."
	for _, text := range []string{"Ana's cup is cyan.", long} {
		shared, differs := x.Compare(text, texts["mem/cup"])
		if shared < 0.5 || !slices.Contains(differs, "cyan") || !slices.Contains(differs, "purple") {
			t.Errorf("%.20q: %v, %q", text, shared, differs)
		}
	}
	if shared, differs := x.Compare("Status?", texts["mem/boat"]); shared != 0 || differs != nil {
		t.Errorf("unlike texts: %v, %q", shared, differs)
	}
	if shared, _ := x.Compare("", ""); shared != 0 {
		t.Errorf("empty texts share %v", shared)
	}
}
