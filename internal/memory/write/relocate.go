package write

import (
	"context"
	"fmt"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Relocation says which memories get other slugs, and what follows from that in the
// texts of all.
type Relocation struct {
	// To returns the new slug of a slug; ok is false for one that stays. Links and
	// relations follow it, also those to what is not there.
	To func(slug string) (to string, ok bool)
	// Named returns the new name of a project, where a front matter key (nameKeys) of
	// the memory at a slug has that name, or the slug of it; ok is false for one that
	// stays.
	Named func(at nipae.Slug, name string) (to string, ok bool)
	// Planned is shown the slugs that are moved, and those whose names are changed,
	// before anything is written; its error ends the call.
	Planned func(moved, named []nipae.Slug) error
	Check   func(old, text string) error
}

// nameKeys are the keys of front matter whose value may be a project's name.
var nameKeys = []string{"where", "project"}

// Relocated is what came of a relocation.
type Relocated struct {
	Moved, Mended []nipae.Slug
	// Unmended are memories whose links cannot be changed: records that only their own
	// commands write, and texts of which the front matter cannot be edited.
	Unmended []*AbsentError
}

// relocation is one step: what a memory will say, and where.
type relocation struct {
	head client.Entry
	to   nipae.Slug
	text string
}

// Relocate gives memories other slugs and mends all that names them: first the new
// ones are written, then the links of others, and then the old ones are removed, so
// that nothing is lost and the same call does the rest where one was broken off. If
// something else is at a new slug (ErrTaken), or a relay is missing, or a text that no
// relay shows (client.ErrBehind), nothing is written.
func (w *Writer) Relocate(ctx context.Context, r Relocation) (out Relocated, err error) {
	l, status, err := w.Memory.ListAll(ctx)
	if err == nil && status.Partial {
		err = client.ErrPartial
	} else if err == nil && status.Withheld > 0 {
		err = fmt.Errorf("%w: what is not seen is not moved", client.ErrBehind)
	}
	if err != nil {
		return out, err
	}
	moves, mends, err := w.relocations(l, r, &out)
	if err != nil {
		return out, err
	}
	for _, m := range moves {
		if _, err := w.moved(ctx, m.head, m.to, m.text, r.Check); err != nil {
			return out, &AbsentError{m.to, err}
		}
	}
	for _, m := range mends {
		if _, _, err := w.Memory.Set(ctx, m.to, m.text, memory.SetOptions{Base: m.head.Hash}); err != nil {
			return out, &AbsentError{m.to, err}
		}
		out.Mended = append(out.Mended, m.to)
	}
	for _, m := range moves {
		if _, _, err := w.Memory.RemoveVersion(ctx, m.head.Slug, m.head.Hash); err != nil && !absent(err) {
			return out, &AbsentError{m.head.Slug, err}
		}
		out.Moved = append(out.Moved, m.to)
	}
	return out, nil
}

// relocations finds what is to be moved and mended.
func (w *Writer) relocations(l memory.Listing, r Relocation, out *Relocated) (moves, mends []relocation, err error) {
	there := map[nipae.Slug]string{}
	all := l.Texts()
	for _, e := range all {
		there[e.Slug] = e.Text
	}
	var moved, named []nipae.Slug
	for _, e := range all {
		text, renamed, err := w.followed(e, r)
		to, moving := r.To(string(e.Slug))
		if moving = moving && !Reserved(e.Slug) && !e.Slug.IsCore(); moving && err != nil {
			text, renamed, err = e.Text, false, nil // as it stands: what cannot be edited is moved all the same
		}
		if err == nil && !moving && text != e.Text && Reserved(e.Slug) {
			err = ErrReserved
		}
		step := relocation{e, e.Slug, text}
		switch {
		case err != nil:
			out.Unmended = append(out.Unmended, &AbsentError{e.Slug, err})
			continue
		case moving:
			if step.to, err = nipae.ParseSlug(to); err != nil {
				return nil, nil, &AbsentError{e.Slug, fmt.Errorf("%w: its new slug: %w", ErrField, err)}
			}
			if now, ok := there[step.to]; ok && !sameUnit(now, text) {
				return nil, nil, &AbsentError{step.to, ErrTaken}
			}
			moves, moved = append(moves, step), append(moved, e.Slug)
		case text != e.Text:
			mends = append(mends, step)
		}
		if renamed {
			named = append(named, step.to)
		}
	}
	if r.Planned != nil && len(moves)+len(mends) > 0 {
		err = r.Planned(moved, named)
	}
	return moves, mends, err
}

// followed returns a memory's text with links and names changed, and whether a name
// was.
func (w *Writer) followed(e client.Entry, r Relocation) (text string, named bool, err error) {
	if e.Text == "" {
		return "", false, nil
	}
	if text, err = w.relinked(e.Slug, e.Text, r.To); err != nil || e.Slug.IsCore() {
		return text, false, err
	}
	d := frontmatter.Parse(text)
	var changes []frontmatter.Change
	for _, key := range nameKeys {
		v, _ := d.Value(key)
		if name, ok := v.Scalar(); ok {
			now := strings.Trim(strings.TrimPrefix(strings.TrimSpace(name), projectsPrefix), "/")
			if to, ok := r.Named(e.Slug, now); ok && now != "" {
				at := strings.LastIndex(name, now) // behind what a slug begins with
				changes = append(changes, frontmatter.Set(key, frontmatter.String(name[:at]+to+name[at+len(now):])))
			}
		}
	}
	if len(changes) == 0 {
		return text, false, nil
	}
	changed, err := d.Edit(changes...)
	if err != nil {
		return e.Text, false, err
	}
	text, err = w.stamped(frontmatter.Parse(changed), &d, frontmatter.Told)
	return text, err == nil, err
}
