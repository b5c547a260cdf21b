package write

import (
	"context"
	"fmt"

	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Mark is what Writer.Mark makes of a unit.
type Mark string

// The marks.
const (
	Pin       Mark = "pin"
	Unpin     Mark = "unpin"
	Archive   Mark = "archive"
	Unarchive Mark = "unarchive"
)

// Mark changes the one line of the front matter that a mark is about, and no
// other byte: it says nothing that the unit does not say, so nothing is stamped.
// What has the mark already is left. Errors are those of memory.Memory.Get and
// Set, ErrReserved, and ErrField for a unit that cannot have the mark.
func (w *Writer) Mark(ctx context.Context, slug nipae.Slug, m Mark, o memory.SetOptions) (Result, error) {
	if Reserved(slug) {
		return Result{}, ErrReserved
	}
	if slug.IsCore() {
		return Result{}, fmt.Errorf("%w: the core is always shown, and has no front matter to %s it by", ErrField, m)
	}
	head, status, err := w.Memory.Get(ctx, slug)
	r := Result{Entry: head, Status: status, Outcome: Replaced, Was: len(Body(slug, head.Text))}
	if err != nil {
		return r, err
	}
	if o.Base != "" && o.Base != head.Hash {
		return r, conflictWith(head, Replaced)
	}
	compose := func(old string) (composed, error) {
		text, err := m.Of(slug, frontmatter.Parse(old))
		return composed{text: text}, err
	}
	new, err := compose(head.Text)
	if err != nil {
		return r, err
	}
	if new.text == head.Text && !status.Partial {
		r.Outcome = Unchanged
		return r, nil
	}
	return w.put(ctx, r, slug, head.Text, o, compose)
}

// Of returns the text of a unit with the mark. The error is ErrField for one that
// cannot have it.
func (m Mark) Of(slug nipae.Slug, d frontmatter.Doc) (string, error) {
	f := d.Fields()
	switch m {
	case Pin:
		if !f.Pin {
			return d.Edit(frontmatter.Set("pin", frontmatter.Truth(true)))
		}
	case Unpin:
		return d.Edit(frontmatter.Remove("pin"))
	case Archive:
		switch {
		case f.State == frontmatter.Archived:
		case f.State != frontmatter.Active:
			return "", fmt.Errorf("%w: %s is %s already, and is not recalled", ErrField, slug, f.State)
		case f.Pin:
			return "", fmt.Errorf("%w: %s is pinned, and is not archived before it is unpinned", ErrField, slug)
		case f.Type == frontmatter.Narrative:
			return "", fmt.Errorf("%w: %s is the narrative, and is not archived", ErrField, slug)
		case f.Type == frontmatter.Prospective:
			return "", fmt.Errorf("%w: %s is an intention that is not done, and is not archived", ErrField, slug)
		default:
			return d.Edit(frontmatter.Set("state", frontmatter.String(string(frontmatter.Archived))))
		}
	case Unarchive:
		if f.State != frontmatter.Active && f.State != frontmatter.Archived {
			return "", fmt.Errorf("%w: %s is %s, not archived", ErrField, slug, f.State)
		}
		if f.State == frontmatter.Archived {
			return d.Edit(frontmatter.Remove("state"))
		}
	default:
		return "", fmt.Errorf("%w: no mark %q", ErrField, m)
	}
	return d.Text(), nil
}
