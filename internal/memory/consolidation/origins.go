package consolidation

import (
	"slices"

	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// origins knows whose words units are: by what each says of itself, and by what it says
// that it is from, however many units lie between. What the owner said is the owner's,
// whatever it is from.
type origins struct {
	view  answer.View
	whose map[string]string // what stranger said
}

// stranger returns the external unit that a unit is, or comes from; "" for none.
func (o *origins) stranger(slug string) string {
	if from, ok := o.whose[slug]; ok {
		return from
	}
	if o.whose == nil {
		o.whose = map[string]string{}
	}
	from, met := o.walk(false, slug)
	o.whose[slug] = from
	for _, one := range met {
		if from == "" {
			o.whose[one] = ""
		}
	}
	return from
}

// walk goes from units to what they are from, and returns the first that is external;
// strictly also one that is nowhere, or does not say in words that can be read what it is
// from. met are those that it came by.
func (o *origins) walk(strict bool, slugs ...string) (from string, met []string) {
	seen := map[string]bool{}
	for next := slices.Clone(slugs); len(next) > 0; next = next[1:] {
		slug := next[0]
		if seen[slug] {
			continue
		}
		seen[slug], met = true, append(met, slug)
		text, ok := o.view.Text(slug)
		if !ok || answer.Reserved(slug) {
			if strict {
				return slug, met
			}
			continue
		}
		d := frontmatter.Parse(text)
		f := d.Fields()
		switch made := func(key string) bool { return key == relDerivedFrom || key == relInspiredBy }; {
		case slug == core || f.Trust == frontmatter.Told:
		case f.Trust == frontmatter.External,
			strict && slices.ContainsFunc(d.Faults(), func(f frontmatter.Fault) bool { return made(f.Key) }):
			return slug, met
		default:
			for _, r := range f.Relations {
				if made(r.Relation) {
					next = append(next, slugOf(r.Target))
				}
			}
		}
	}
	return "", met
}

// shownBy returns a unit of somebody else's words that a plan of thinking shows; "" for
// none. Plans of archiving are not thought about.
func (o *origins) shownBy(p Plan) string {
	for _, u := range p.Units {
		if from := o.stranger(u.Slug); from != "" && p.Kind != Archive {
			return from
		}
	}
	return ""
}

// slugOf is what a relation names, as it is stored.
func slugOf(target string) string {
	if slug, err := nipae.NormalizeSlug(target); err == nil {
		return string(slug)
	}
	return target
}
