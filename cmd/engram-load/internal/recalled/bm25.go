package recalled

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
)

// The usual constants of BM25.
const (
	k1 = 1.2
	b  = 0.75
)

// BM25 ranks whole memories by their words as they are written, without stems and
// stop words.
func BM25() measure.Config {
	return measure.Config{Name: "BM25, plain words", Make: func(m *measure.Memory) (measure.Ranker, error) {
		posts, lengths, average := map[string]map[int]float64{}, make([]float64, len(m.Documents)), 0.
		for i := range m.Documents {
			for _, w := range words(text(&m.Documents[i])) {
				if posts[w] == nil {
					posts[w] = map[int]float64{}
				}
				posts[w][i]++
				lengths[i]++
				average++
			}
		}
		average /= float64(max(1, len(m.Documents)))
		return func(q recall.Query) []measure.Hit {
			scores := make([]float64, len(m.Documents))
			asked := words(q.Text)
			slices.Sort(asked)
			for _, w := range slices.Compact(asked) {
				with := float64(len(posts[w]))
				idf := math.Log(1 + (float64(len(m.Documents))-with+0.5)/(with+0.5))
				for i, n := range posts[w] {
					scores[i] += idf * n * (k1 + 1) / (n + k1*(1-b+b*lengths[i]/average))
				}
			}
			var found []int
			for i, s := range scores {
				if s > 0 {
					found = append(found, i)
				}
			}
			slices.SortStableFunc(found, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
			slugs := make([]string, len(found))
			for i, at := range found {
				slugs[i] = m.Documents[at].Slug
			}
			return measure.Hits(slugs)
		}, nil
	}}
}

// text is what a baseline reads of a memory: its slug's words, and what it says.
func text(d *recall.Document) string {
	name := strings.TrimPrefix(d.Slug, "mem/")
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '-' || r == '_' })
	parts = slices.DeleteFunc(parts, func(p string) bool { return p[0] >= '0' && p[0] <= '9' })
	return strings.Join(parts, " ") + "\n" + d.Description + "\n" + d.Body
}

// words are runs of letters and digits in lower case, and of scripts that are
// written without blanks each two characters that follow each other.
func words(s string) []string {
	var all []string
	for _, run := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		runes := []rune(run)
		for i := 0; i < len(runes); {
			whole, end := unbroken(runes[i]), i+1
			for end < len(runes) && unbroken(runes[end]) == whole {
				end++
			}
			if !whole || end == i+1 {
				all = append(all, string(runes[i:end]))
			} else {
				for j := i; j+1 < end; j++ {
					all = append(all, string(runes[j:j+2]))
				}
			}
			i = end
		}
	}
	return all
}

func unbroken(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
