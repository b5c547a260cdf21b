package recall_test

import (
	"testing"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// A unit that stands whole in a longer text is similar to it; one that does not hold
// any more is not.
func TestSimilarToAPart(t *testing.T) {
	l := map[string]string{"mem/tea": "Ana prefers green tea.", "mem/old": "---\nstate: superseded\n---\nAna prefers green tea."}
	y := recall.New()
	for slug, text := range l {
		if err := y.Put(recall.Of(slug, frontmatter.Parse(text), time.Unix(1_790_000_000, 0))); err != nil {
			t.Fatal(err)
		}
	}
	got := y.Similar("mem/people/ana", "Ana leads the Atlas team in Lisbon since May. She prefers green teas, sails on Sundays and reads maps.",
		func(slug string) (string, bool) { text, ok := l[slug]; return text, ok }, 5)
	if len(got) != 1 || got[0].Slug != "mem/tea" || got[0].Shared < 0.99 {
		t.Errorf("%+v", got)
	}
}
