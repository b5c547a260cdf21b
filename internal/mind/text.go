package mind

import "fmt"

// Text is what whoever thinks reads: the rules, then the units. text gives what is
// at a slug now.
func (p Plan) Text(text func(slug string) (string, bool)) string {
	out := fmt.Sprintf("# Plan %s (%s)\n", p.ID, p.Kind)
	for _, u := range p.Units {
		if t, ok := text(u.Slug); ok {
			out += fmt.Sprintf("## %s (%s)\n%s\n", u.Slug, u.Role, t)
		}
	}
	return out
}
