package consolidation

import (
	"fmt"
	"slices"
	"strings"

	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	relContradicts = "contradicts"
	relSupersedes  = "supersedes"
	relDerivedFrom = "derived_from"
	relInspiredBy  = "inspired_by"
	// maxSources is how many units one result names, maxTags and maxDescription
	// bound what else it says of itself, maxWhy a reason.
	maxSources     = 64
	maxTags        = 32
	maxTag         = 64
	maxDescription = 300
	maxWhy         = 2000
	maxNamed       = 8 // of what was shown before
)

// linkable are the relations that link makes: the others say where a unit is from,
// or what becomes of it.
var linkable = []string{relContradicts, "supports", "causes", "related_to"}

// members are those that an operation must have, and those that it may have.
var members = map[string]struct{ must, may []string }{
	OpWrite:     {[]string{"slug", "text"}, []string{"type", "description", "tags", "derived_from", "inspired_by", "why"}},
	OpSupersede: {[]string{"old", "new"}, []string{"why", "text", "type", "description", "tags", "derived_from"}},
	OpArchive:   {[]string{"slug"}, []string{"why"}},
	OpKeep:      {[]string{"slug"}, []string{"why"}},
	OpLink:      {[]string{"from", "to", "relation"}, []string{"why"}},
}

var kinds = map[Kind][]string{
	Consolidate: {OpWrite, OpSupersede, OpArchive, OpKeep, OpLink},
	Dream:       {OpWrite},
	Archive:     {OpArchive, OpKeep},
}

// normal returns the operations with slugs as they are stored and texts without
// what nobody sees, if each has the members that it must have and no other.
func normal(k Kind, ops []Op) ([]Op, error) {
	all := slices.Clone(ops)
	for i := range all {
		fail := func(reason string) error { return &OpError{Index: i, Op: brief(all[i].Op), Reason: reason} }
		op := &all[i]
		if !slices.Contains(kinds[k], op.Op) {
			return nil, fail("it is none of " + strings.Join(kinds[k], ", "))
		}
		if reason := op.odd(); reason != "" {
			return nil, fail(reason)
		}
		for _, slug := range []*string{&op.Slug, &op.Old, &op.New, &op.From, &op.To} {
			if err := normalSlug(slug); err != nil {
				return nil, fail(err.Error())
			}
		}
		for _, list := range []*[]string{&op.DerivedFrom, &op.InspiredBy} {
			*list = slices.Clone(*list)
			for j := range *list {
				if err := normalSlug(&(*list)[j]); err != nil {
					return nil, fail(err.Error())
				}
			}
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if reason := op.tidy(); reason != "" {
			return nil, fail(reason)
		}
	}
	return all, nil
}

// normalSlug makes a slug what it is stored as.
func normalSlug(s *string) error {
	if *s == "" {
		return nil
	}
	slug, err := nipae.NormalizeSlug(*s)
	switch {
	case err != nil:
		return fmt.Errorf("%.80q: %w", *s, err)
	case slug.IsCore():
		return fmt.Errorf("core is not changed by a plan")
	case answer.Reserved(string(slug)):
		return fmt.Errorf("%s is reserved", slug)
	}
	*s = string(slug)
	return nil
}

// odd says which member is missing or too many, "" if none is.
func (op *Op) odd() string {
	has := map[string]bool{
		"slug": op.Slug != "", "text": op.Text != "", "type": op.Type != "", "description": op.Description != "", "why": op.Why != "",
		"old": op.Old != "", "new": op.New != "", "from": op.From != "", "to": op.To != "", "relation": op.Relation != "",
		"tags": len(op.Tags) > 0, "derived_from": len(op.DerivedFrom) > 0, "inspired_by": len(op.InspiredBy) > 0,
	}
	m := members[op.Op]
	for _, name := range m.must {
		if !has[name] {
			return name + " is missing"
		}
		delete(has, name)
	}
	for _, name := range m.may {
		delete(has, name)
	}
	for _, name := range []string{"slug", "text", "type", "description", "why", "old", "new", "from", "to", "relation", "tags", "derived_from", "inspired_by"} {
		if has[name] {
			return fmt.Sprintf("it takes no %s, but %s", name, strings.Join(slices.Concat(m.must, m.may), ", "))
		}
	}
	if op.Op == OpSupersede && op.Text == "" && (op.Type != "" || op.Description != "" || len(op.Tags) > 0 || len(op.DerivedFrom) > 0) {
		return "without a text, the new unit is the one that is there, and has its own fields"
	}
	return ""
}

// tidy takes out of texts what nobody sees, and says what is too long or no text.
func (op *Op) tidy() string {
	op.Text, op.Why, op.Description = quote.Plain(op.Text), frontmatter.OneLine(op.Why), frontmatter.OneLine(op.Description)
	op.Tags = slices.Clone(op.Tags)
	for i := range op.Tags {
		if op.Tags[i] = frontmatter.OneLine(op.Tags[i]); op.Tags[i] == "" || len(op.Tags[i]) > maxTag {
			return fmt.Sprintf("a tag is a word or two, of %d bytes at most", maxTag)
		}
	}
	writes := op.Op == OpWrite || op.Op == OpSupersede && op.Text != ""
	switch {
	case writes && strings.TrimSpace(op.Text) == "":
		return "the text says nothing"
	case frontmatter.Parse(op.Text).HasHead():
		return "the text begins with front matter: say type, description, tags and derived_from as members; where a text comes from is stamped"
	case len(op.Tags) > maxTags:
		return fmt.Sprintf("%d tags, and a unit has %d at most", len(op.Tags), maxTags)
	case len([]rune(op.Description)) > maxDescription:
		return fmt.Sprintf("the description is one line of %d characters at most", maxDescription)
	case len(op.Why) > maxWhy:
		return fmt.Sprintf("the reason has %d bytes at most", maxWhy)
	case len(op.DerivedFrom)+len(op.InspiredBy) > maxSources:
		return fmt.Sprintf("a unit names %d sources at most", maxSources)
	case op.Op == OpLink && !slices.Contains(linkable, op.Relation):
		return fmt.Sprintf("%.40q is none of the relations that link makes: %s", op.Relation, strings.Join(linkable, ", "))
	case op.Op == OpLink && op.From == op.To, op.Op == OpSupersede && op.Old == op.New:
		return "both ends are the same unit"
	}
	return ""
}
