package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall"
)

// Sizes are what a set is and what its index takes.
type Sizes struct {
	Memories  int // that have nothing to do with each other
	Documents int
	Sections  int
	Questions int // with evidence
	TextBytes int
	BlobBytes int           // of all indexes
	Build     time.Duration // of all indexes
	Load      time.Duration // from their blobs
}

// String says it in a line.
func (s Sizes) String() string {
	return fmt.Sprintf("%d memories of %d documents, %d sections, %d bytes of text; %d questions; index %d bytes, made in %s ms, read in %s ms",
		s.Memories, s.Documents, s.Sections, s.TextBytes, s.Questions, s.BlobBytes, milliseconds(s.Build), milliseconds(s.Load))
}

// SizeOf measures the indexes of a set.
func SizeOf(set *Set, clock func() time.Time) (Sizes, error) {
	s := Sizes{Memories: len(set.Memories)}
	s.Documents, s.Questions = set.Size()
	for i := range set.Memories {
		m := &set.Memories[i]
		for _, d := range m.Documents {
			s.TextBytes += len(d.Body)
		}
		before := clock()
		x, err := BuildIndex(m)
		if err != nil {
			return s, err
		}
		s.Build += clock().Sub(before)
		blob := x.Encode()
		before = clock()
		if _, err := recall.Decode(blob); err != nil {
			return s, err
		}
		s.Load += clock().Sub(before)
		_, n := x.Len()
		s.Sections += n
		s.BlobBytes += len(blob)
	}
	return s, nil
}

// maxForeign is how many questions of others each memory is asked.
const maxForeign = 500

// AskForeign asks each memory of a set also questions of the others, to which it has
// no answer, and in which its people stand for those of the other: else a name alone
// would tell them. A memory in which nobody is named is left as it is.
func AskForeign(set *Set) {
	own := slices.Clone(set.Memories)
	for i := range own {
		var foreign []Question
		for j := range own {
			if j != i && len(own[i].people()) > 0 {
				foreign = append(foreign, renamed(&own[j], &own[i])...)
			}
		}
		m := &set.Memories[i]
		m.Questions = slices.Clone(m.Questions)
		step := max(1, len(foreign)/maxForeign)
		for k := 0; k < len(foreign); k += step {
			m.Questions = append(m.Questions, Question{Text: foreign[k].Text, Kind: "of another memory"})
		}
	}
}

// renamed returns the questions of a memory with the names of another's people.
func renamed(of, to *Memory) []Question {
	var pairs []string
	names := to.people()
	for i, name := range of.people() {
		if len(names) > 0 {
			pairs = append(pairs, name, names[i%len(names)])
		}
	}
	r := strings.NewReplacer(pairs...)
	all := slices.Clone(of.Questions)
	for i := range all {
		all[i].Text = r.Replace(all[i].Text)
	}
	return all
}

// people returns who wrote a memory's documents.
func (m *Memory) people() []string {
	var names []string
	for _, d := range m.Documents {
		for _, who := range d.Who {
			if !slices.Contains(names, who) {
				names = append(names, who)
			}
		}
	}
	return names
}

func (m *Memory) texts() recall.Texts {
	bySlug := make(map[string]string, len(m.Documents))
	for _, d := range m.Documents {
		bySlug[d.Slug] = d.Body
	}
	return func(slug string) (string, bool) { text, ok := bySlug[slug]; return text, ok }
}

func percent(f float64) string { return fmt.Sprintf("%.1f", 100*f) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }
