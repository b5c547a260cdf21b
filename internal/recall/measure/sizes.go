package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/recall"
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

// Threshold is how well "nothing fits" tells questions of a memory from those of
// another.
type Threshold struct {
	Answered int // questions of the memory itself
	Kept     int // of these, to which something fits
	Foreign  int // questions of other memories
	Refused  int // of these, to which nothing fits
}

// String says it in a line.
func (t Threshold) String() string {
	return fmt.Sprintf("Something fits for %d of %d questions; nothing fits for %d of %d questions of other memories.", t.Kept, t.Answered, t.Refused, t.Foreign)
}

// maxForeign is how many questions of others each memory is asked.
const maxForeign = 500

// Fits asks each memory its own questions and those of the others, in which the
// people of this memory stand for those of the other: else a name alone would
// tell them. meaning is nil where there is no model.
func Fits(set *Set, meaning Meaning) (Threshold, error) {
	var t Threshold
	for i := range set.Memories {
		m := &set.Memories[i]
		x, err := BuildIndex(m)
		if err != nil {
			return t, err
		}
		texts := m.texts()
		ask := func(q Question) int {
			return min(1, len(x.Recall(meaning.query(m, q.Text), recall.Recipe(), texts)))
		}
		for _, q := range m.Questions {
			if len(q.Evidence) > 0 {
				t.Answered++
				t.Kept += ask(q)
				continue
			}
			t.Foreign++ // nothing answers it
			t.Refused += 1 - ask(q)
		}
		var foreign []Question
		for j := range set.Memories {
			if j != i {
				foreign = append(foreign, renamed(&set.Memories[j], m)...)
			}
		}
		step := max(1, len(foreign)/maxForeign)
		for k := 0; k < len(foreign); k += step {
			t.Foreign++
			t.Refused += 1 - ask(foreign[k])
		}
	}
	return t, nil
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

// texts gives the bodies of a memory.
func (m *Memory) texts() recall.Texts {
	bySlug := make(map[string]string, len(m.Documents))
	for _, d := range m.Documents {
		bySlug[d.Slug] = d.Body
	}
	return func(slug string) (string, bool) { text, ok := bySlug[slug]; return text, ok }
}
