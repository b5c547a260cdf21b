package meaning

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// TestWithin: an index compares what was asked with the vectors of its documents, also one
// that was kept; of a long text the first sections have some.
func TestWithin(t *testing.T) {
	x := recall.New()
	var long strings.Builder
	for i := range mostSections + 44 {
		fmt.Fprintf(&long, "# Part %d\n\n%s\n\n", i, strings.Repeat("boats and harbours ", 40))
	}
	for slug, text := range map[string]string{"mem/car": "The car needs winter tyres.", "mem/lunch": "The team eats at noon.", "mem/nothing": "!", "mem/long": long.String()} {
		if err := x.Put(Document(slug, frontmatter.Parse(text), time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(recall.VectorsIn(x)); n != 4 {
		t.Errorf("%d of 4 documents have vectors", n)
	}
	kept, err := recall.Decode(x.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for slug, most := range map[string]int{"mem/car": 1, "mem/long": mostSections} {
		for section, has := range map[int]bool{-1: false, 0: true, most - 1: true, most: false} {
			before, _ := x.Vector(slug, section)
			after, ok := kept.Vector(slug, section)
			if ok != has || !slices.Equal(before, after) {
				t.Errorf("%s, section %d: %v, %v before it was kept and %v after", slug, section, ok, before, after)
			}
		}
	}
	const asked = "vehicle wheels"
	near := Within(kept, []string{asked})
	n, ok := near(asked)
	if _, other := near("another text"); !ok || other {
		t.Fatalf("what was asked is compared: %v; what was not: %v", ok, other)
	}
	car, _ := n.Cosine("mem/car", 0)
	lunch, _ := n.Cosine("mem/lunch", 0)
	nothing, ok := n.Cosine("mem/nothing", 0)
	if _, absent := n.Cosine("mem/absent", 0); absent || !ok || car < lunch+n.Deviation || car < nothing+n.Deviation {
		t.Errorf("car %.2f, lunch %.2f, nothing %.2f; deviation %.2f", car, lunch, nothing, n.Deviation)
	}
}
