package from

import (
	"fmt"
	"time"

	"engramd/internal/memory/foreign"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// external has what is copied from an external memory be external here too, whatever a
// person vouches for: the words are still whose they were.
func (in *importing) external(held []foreign.Held) error {
	index, texts := recall.New(), map[string]string{}
	for _, h := range held {
		if d := frontmatter.Parse(h.Text); !h.Removed && !h.Slug.IsCore() && d.Trust() == frontmatter.External && index.Put(recall.Of(string(h.Slug), d, time.Time{})) == nil {
			texts[string(h.Slug)] = h.Text
		}
	}
	for i := range in.steps {
		s := &in.steps[i]
		d := frontmatter.Parse(s.Text)
		if s.What != foreign.New && s.What != foreign.Changed || d.Trust() == frontmatter.External {
			continue
		}
		for _, words := range []string{d.Body(), d.Fields().Description} {
			from, ok := index.CopiedFrom(words, func(slug string) (string, bool) { text, ok := texts[slug]; return text, ok })
			if !ok {
				continue
			}
			text, err := d.Edit(frontmatter.Set("trust", frontmatter.String(frontmatter.External.String())))
			if err != nil {
				return fmt.Errorf("%s: %w", s.Slug, err)
			}
			s.Text = text
			in.Note("the words are those of %s, which is external, and so is %s now", from, s.Slug)
			break
		}
	}
	return nil
}
