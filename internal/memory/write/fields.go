package write

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

var (
	// ErrField is a field that cannot be set to that.
	ErrField = errors.New("not a field that can be written")
	// ErrCore is a field for the core, which has no front matter.
	ErrCore = fmt.Errorf("%w: core has no front matter", ErrField)
)

// MaxSupersedes is how many memories one text may supersede.
const MaxSupersedes = 16

// Fields are those that a writer may choose. What is zero stays as it is.
type Fields struct {
	Type        string
	Description string
	Tags        []string // nil: as they are; empty: none
	Salience    *float64
	// Supersedes are added to those that the text supersedes already.
	Supersedes []nipae.Slug
	Trust      string // "" or external
	state      frontmatter.State
}

// None reports whether no field is chosen.
func (f Fields) None() bool {
	return f.Type == "" && f.Description == "" && f.Tags == nil && f.Salience == nil && len(f.Supersedes) == 0 && f.Trust == "" && f.state == ""
}

// Types are the words that Fields.Type takes.
func Types() []string {
	return []string{string(frontmatter.Semantic), string(frontmatter.Episodic), string(frontmatter.Procedural), string(frontmatter.Insight), string(frontmatter.Prospective), string(frontmatter.Narrative)}
}

// changes returns what the fields do to the front matter of a text at a slug.
// The error is ErrField.
func (f Fields) changes(slug nipae.Slug, d frontmatter.Doc) ([]frontmatter.Change, error) {
	if slug.IsCore() && !f.None() {
		return nil, ErrCore
	}
	var all []frontmatter.Change
	if f.Type != "" {
		if !slices.Contains(Types(), f.Type) {
			return nil, fmt.Errorf("%w: type must be one of %s", ErrField, strings.Join(Types(), ", "))
		}
		all = append(all, frontmatter.Set("type", frontmatter.String(f.Type)))
	}
	if f.Description != "" {
		all = append(all, frontmatter.Set("description", frontmatter.String(strings.Join(strings.Fields(f.Description), " "))))
	}
	if tags := distinct(f.Tags); len(tags) > 0 {
		all = append(all, frontmatter.Set("tags", frontmatter.Strings(tags...)))
	} else if f.Tags != nil {
		all = append(all, frontmatter.Remove("tags"))
	}
	if f.Salience != nil {
		if !(*f.Salience >= 0 && *f.Salience <= 1) {
			return nil, fmt.Errorf("%w: salience must be a number from 0 to 1", ErrField)
		}
		all = append(all, frontmatter.Set("salience", frontmatter.Number(*f.Salience)))
	}
	more, err := f.supersede(slug, d)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	if f.state != "" {
		all = append(all, frontmatter.Set("state", frontmatter.String(string(f.state))))
	}
	switch f.Trust {
	case "":
	case frontmatter.External.String():
		all = append(all, frontmatter.Set("trust", frontmatter.String(f.Trust)))
	default:
		return nil, fmt.Errorf("%w: trust can only be set to external; it is never raised", ErrField)
	}
	return all, nil
}

func (f Fields) supersede(slug nipae.Slug, d frontmatter.Doc) ([]frontmatter.Change, error) {
	if len(f.Supersedes) == 0 {
		return nil, nil
	}
	if slices.Contains(f.Supersedes, slug) || slices.Contains(f.Supersedes, nipae.Core) {
		return nil, fmt.Errorf("%w: a memory supersedes others, neither itself nor core", ErrField)
	}
	v, _ := d.Value("supersedes")
	items := v.Items()
	for _, s := range f.Supersedes {
		if !slices.ContainsFunc(items, func(item string) bool { return target(item) == string(s) }) {
			items = append(items, string(s))
		}
	}
	if len(f.Supersedes) > MaxSupersedes {
		return nil, fmt.Errorf("%w: a text supersedes at most %d memories at once", ErrField, MaxSupersedes)
	}
	return []frontmatter.Change{frontmatter.Set("supersedes", frontmatter.Strings(items...))}, nil
}

// target returns the slug of an item of a relation, without its strength.
func target(item string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(item), " ")
	return strings.TrimSuffix(strings.TrimPrefix(first, "[["), "]]")
}

// distinct returns what is not blank, each once, in order.
func distinct(items []string) []string {
	var all []string
	for _, s := range items {
		if s = strings.Join(strings.Fields(s), " "); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
