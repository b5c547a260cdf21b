package answer

import "engramd/nips/frontmatter"

// MaxSimilar is how many similar memories are named.
const MaxSimilar = 5

// Similar is a memory that says much of what a text says.
type Similar struct {
	Slug, Title string
	Shared      float64  // of what is said, 0 to 1
	Differs     []string // words that one of both has and the other has not
}

// SimilarTo returns the memories that a text which is about to be written at a
// slug is similar to, the nearest first.
func SimilarTo(v View, slug, text string) []Similar {
	var all []Similar
	for _, s := range v.Index().Similar(slug, text, texts(v), MaxSimilar) {
		other, _ := v.Text(s.Slug)
		all = append(all, Similar{Slug: s.Slug, Title: Title(frontmatter.Parse(other)), Shared: s.Shared, Differs: s.Differs})
	}
	return all
}

// CopiedFrom returns the external memory that a text was taken from: whoever
// writes it writes somebody else's words.
func CopiedFrom(v View, text string) (slug string, ok bool) {
	return v.Index().CopiedFrom(text, texts(v))
}
