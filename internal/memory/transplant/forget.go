package transplant

import (
	"maps"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Kept is what is to be known of a memory to forget by it.
type Kept struct {
	Slug, ID string
	Text     string
}

// From returns the memories that came from an agent, by transplant or by proposal,
// and those that derive from them by derived_from, directly or not: both by slug.
// What another agent has written and this one passed on came from it too: that lies
// at one of the places (prefixes of slugs) where its memories are kept. What is
// archived already is in neither.
func From(all []Kept, author string, places ...string) (came, derived []string) {
	sources := map[string]bool{Source(author): true, "agent:" + Source(author)[len("transplant:"):]: true}
	from, names := map[string]bool{}, map[string]string{} // of event ids their slugs
	users := map[string][]string{}                        // by what they derive from
	archived := map[string]bool{}
	for _, k := range all {
		d := frontmatter.Parse(k.Text)
		f := d.Fields()
		names[k.ID] = k.Slug
		archived[k.Slug] = f.State == frontmatter.Archived
		from[k.Slug] = sources[f.Source] || given(f.Source) && slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(k.Slug, p) })
		for _, target := range targets(d) {
			users[target] = append(users[target], k.Slug)
		}
	}
	for id, slug := range names {
		users[slug] = append(users[slug], users[id]...)
	}
	seen := map[string]bool{}
	var follow func(slugs []string)
	follow = func(slugs []string) {
		for _, slug := range slugs {
			if !seen[slug] {
				seen[slug] = true
				follow(users[slug])
			}
		}
	}
	for slug, is := range from {
		if is {
			follow(users[slug])
		}
	}
	for _, slug := range slices.Sorted(maps.Keys(from)) {
		switch {
		case archived[slug]:
		case from[slug]:
			came = append(came, slug)
		case seen[slug]:
			derived = append(derived, slug)
		}
	}
	return came, derived
}

// given reports whether a source says that a memory is another agent's.
func given(source string) bool {
	return strings.HasPrefix(source, "transplant:") || strings.HasPrefix(source, "agent:")
}

// targets are what a memory derives from: slugs, and ids of events.
func targets(d frontmatter.Doc) (all []string) {
	v, _ := d.Value("derived_from")
	for _, item := range v.Items() {
		name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
		if slug, err := nipae.NormalizeSlug(name); err == nil && !nostr.IsValid32ByteHex(name) {
			name = string(slug)
		}
		all = append(all, name)
	}
	return all
}
