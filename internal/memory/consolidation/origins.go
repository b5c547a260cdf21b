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

// stranger returns the external unit that a unit is, or comes from; "" for none. Each unit
// is read once, however many others are from it.
func (o *origins) stranger(slug string) string {
	if from, ok := o.whose[slug]; ok {
		return from
	}
	if o.whose == nil {
		o.whose = map[string]string{}
	}
	made := map[string][]string{slug: nil} // what is from a unit that was not looked at before
	var met, theirs []string
	for next := []string{slug}; len(next) > 0; next = next[1:] {
		one := next[0]
		met = append(met, one)
		from, external, _ := o.sources(one)
		if external {
			o.whose[one], theirs = one, append(theirs, one)
		}
		for _, source := range from {
			if whose, known := o.whose[source]; known {
				if whose != "" && o.whose[one] == "" {
					o.whose[one], theirs = whose, append(theirs, one)
				}
				continue
			}
			if _, waits := made[source]; !waits {
				next = append(next, source)
			}
			made[source] = append(made[source], one)
		}
	}
	for ; len(theirs) > 0; theirs = theirs[1:] {
		for _, one := range made[theirs[0]] {
			if o.whose[one] == "" {
				o.whose[one], theirs = o.whose[theirs[0]], append(theirs, one)
			}
		}
	}
	for _, one := range met {
		if _, known := o.whose[one]; !known {
			o.whose[one] = "" // the agent's own
		}
	}
	return o.whose[slug]
}

// sources returns what a unit says that it is from, and whether it is external itself. It
// is sure unless the unit is nowhere, or does not say in words that can be read what it is
// from.
func (o *origins) sources(slug string) (from []string, external, sure bool) {
	text, ok := o.view.Text(slug)
	if !ok || answer.Reserved(slug) {
		return nil, false, false
	}
	d := frontmatter.Parse(text)
	f := d.Fields()
	made := func(key string) bool { return key == relDerivedFrom || key == relInspiredBy }
	switch {
	case slug == core || f.Trust == frontmatter.Told:
		return nil, false, true
	case f.Trust == frontmatter.External:
		return nil, true, true
	}
	for _, r := range f.Relations {
		if made(r.Relation) {
			from = append(from, slugOf(r.Target))
		}
	}
	return from, false, !slices.ContainsFunc(d.Faults(), func(f frontmatter.Fault) bool { return made(f.Key) })
}

// doubtful goes from units to what they are from, and returns the first that is external,
// or of which that is not sure; "" for none.
func (o *origins) doubtful(slugs ...string) string {
	seen := map[string]bool{}
	for next := slices.Clone(slugs); len(next) > 0; next = next[1:] {
		if seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		from, external, sure := o.sources(next[0])
		if external || !sure {
			return next[0]
		}
		next = append(next, from...)
	}
	return ""
}

// shownBy returns a unit of somebody else's words that a plan of thinking shows; "" for
// none. Plans of archiving are not thought about.
func (o *origins) shownBy(p Plan) string {
	if p.Kind == Archive {
		return ""
	}
	for _, u := range p.Units {
		if from := o.stranger(u.Slug); from != "" {
			return from
		}
	}
	return p.Theirs
}

// slugOf is what a relation names, as it is stored.
func slugOf(target string) string {
	if slug, err := nipae.NormalizeSlug(target); err == nil {
		return string(slug)
	}
	return target
}
