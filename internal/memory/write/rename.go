package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// ErrTaken is a rename to where something is.
var ErrTaken = errors.New("there is a memory at the new slug")

// maxMends is how many memories one rename writes because they link to it, and how
// many of the others it names.
const maxMends = 100

// Renamed is what came of a rename. What was not reached is said, and can be
// done by itself: nothing is lost.
type Renamed struct {
	Result // of the new slug
	// Kept is why the old one is still there, nil if it is gone.
	Kept error
	// Mended are the memories of which the links were changed, Unmended those
	// that still link to the old slug, as far as they are known; More counts those
	// of the latter that are not named.
	Mended   []nipae.Slug
	Unmended []*AbsentError
	More     int
	// MendErr says that it is not known which memories link to it.
	MendErr error
}

// Rename writes the memory at another slug, where nothing may be (ErrTaken), and
// then removes the old one. One that says the same is there already if an earlier
// call did not come to its end: then this one does. With mend, links to it are
// changed too. The error says that nothing was done; else see Renamed.
func (w *Writer) Rename(ctx context.Context, from, to nipae.Slug, mend bool, check func(old, text string) error) (Renamed, error) {
	switch {
	case Reserved(from) || Reserved(to):
		return Renamed{}, ErrReserved
	case from.IsCore() || to.IsCore():
		return Renamed{}, fmt.Errorf("%w: core cannot be renamed", ErrField)
	case from == to:
		return Renamed{}, fmt.Errorf("%w: both slugs are the same", ErrField)
	}
	head, status, err := w.Memory.Get(ctx, from)
	if err = cmp.Or(err, status.Unasked()); err != nil {
		return Renamed{Result: Result{Entry: head, Status: status}}, err
	}
	out := Renamed{}
	if out.Result, err = w.moved(ctx, head, to, head.Text, check); err != nil {
		return out, err
	}
	out.Status.Removed = cmp.Or(out.Status.Removed, status.Removed)
	if _, _, out.Kept = w.Memory.RemoveVersion(ctx, from, head.Hash); out.Kept != nil && absent(out.Kept) {
		out.Kept = nil // somebody removed it meanwhile
	}
	if mend {
		w.mend(ctx, &out, from, to)
	}
	return out, nil
}

// Move writes a memory at another slug, where nothing may be (ErrTaken), and with
// another path; at its own slug it changes the path only. One that says the same is
// there already if an earlier call was made. The old one stays: who moves several
// removes them when all are written.
func (w *Writer) Move(ctx context.Context, head client.Entry, to nipae.Slug, path string, check func(old, text string) error) (Result, error) {
	if Reserved(head.Slug) || Reserved(to) {
		return Result{}, ErrReserved
	}
	text, err := pathed(frontmatter.Parse(head.Text), path)
	switch {
	case err != nil:
		return Result{}, err
	case to != head.Slug:
		return w.moved(ctx, head, to, text, check)
	}
	o := memory.SetOptions{Base: head.Hash, Check: check}
	return w.put(ctx, Result{Outcome: Replaced}, to, head.Text, o, func(at string) (composed, error) {
		return w.compose(to, at, Draft{Text: text, Whole: true})
	})
}

// IsMoved reports whether what is there is what Move makes of a memory.
func IsMoved(head client.Entry, path, there string) bool {
	text, err := pathed(frontmatter.Parse(head.Text), path)
	return err == nil && sameUnit(there, text)
}

// moved writes a memory at another slug, with the text that it is to have there,
// which replaces the one at another place: what it says of itself stays, and it is
// as old as it was.
func (w *Writer) moved(ctx context.Context, head client.Entry, to nipae.Slug, text string, check func(old, text string) error) (Result, error) {
	r, there, err := w.before(ctx, to)
	switch {
	case err != nil:
		return r, err
	case r.Outcome == Replaced:
		r.Entry, r.Outcome = there, Unchanged
		if !sameUnit(there.Text, text) {
			err = ErrTaken
		}
		return r, err
	}
	d := frontmatter.Parse(text)
	stamp := w.stamp(&d, frontmatter.Told)
	stamp.Now = time.Unix(head.CreatedAt, 0)
	if text, err = frontmatter.Stamped(d, &d, stamp); err != nil {
		return Result{}, err
	}
	// The secrets that are in it are there already.
	o := memory.SetOptions{Base: memory.BaseNone, Whole: true, Like: head.Slug, Expires: memory.Expiry{At: head.Expires}}
	if check != nil {
		o.Check = func(_, text string) error { return check(head.Text, text) }
	}
	e, status, err := w.Memory.Set(ctx, to, text, o)
	return Result{Entry: e, Status: status, Outcome: Created}, err
}

// sameUnit reports whether two texts say the same, with the same trust.
func sameUnit(a, b string) bool {
	x, y := frontmatter.Parse(a), frontmatter.Parse(b)
	one, err1 := unstamped(x)
	other, err2 := unstamped(y)
	return err1 == nil && err2 == nil && one == other && x.Trust() == y.Trust()
}

func absent(err error) bool {
	return errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone)
}

// mend changes all links to one slug into such to another.
func (w *Writer) mend(ctx context.Context, out *Renamed, from, to nipae.Slug) {
	l, status, err := w.Memory.ListAll(ctx)
	if out.MendErr = err; err != nil {
		return
	}
	switch {
	case status.Partial:
		out.MendErr = client.ErrPartial
	case status.Withheld > 0:
		out.MendErr = client.ErrBehind
	}
	for _, e := range l.Texts() {
		if e.Slug == from || e.Text == "" {
			continue
		}
		text, err := w.relinked(e.Slug, e.Text, func(slug string) (string, bool) { return string(to), slug == string(from) })
		if err == nil && text == e.Text {
			continue
		}
		if err == nil && Reserved(e.Slug) {
			err = ErrReserved
		}
		if err == nil && len(out.Mended) >= maxMends {
			err = fmt.Errorf("%d are mended at once", maxMends)
		}
		if err == nil {
			_, _, err = w.Memory.Set(ctx, e.Slug, text, memory.SetOptions{Base: e.Hash})
		}
		if err != nil {
			if len(out.Unmended) < maxMends {
				out.Unmended = append(out.Unmended, &AbsentError{e.Slug, err})
			} else {
				out.More++
			}
			continue
		}
		out.Mended = append(out.Mended, e.Slug)
	}
}

// linked finds the [[slug]] links of a body.
var linked = pattern.Later(`\[\[(mem/[a-z0-9_/-]+)\]\]`)

// relinked returns a text with its links and relations changed; to returns the new
// target of one, and false for one that stays.
func (w *Writer) relinked(slug nipae.Slug, text string, to func(slug string) (string, bool)) (string, error) {
	follow := func(body string) string {
		return linked().ReplaceAllStringFunc(body, func(link string) string {
			if new, ok := to(link[2 : len(link)-2]); ok {
				return "[[" + new + "]]"
			}
			return link
		})
	}
	if slug.IsCore() {
		return follow(text), nil
	}
	d := frontmatter.Parse(text)
	var changes []frontmatter.Change
	for _, key := range append(slices.Clone(frontmatter.Relations), "who") {
		v, _ := d.Value(key)
		items, any := v.Items(), false
		for i, item := range items {
			new, ok := to(target(item))
			if short := target(item); !ok && key != "who" { // a relation may lack mem/, and keeps that
				new, ok = to(memPrefix + short)
				new = strings.TrimPrefix(new, memPrefix)
			}
			if ok {
				items[i], any = strings.Replace(item, target(item), new, 1), true
			}
		}
		if any {
			changes = append(changes, frontmatter.Set(key, frontmatter.Strings(items...)))
		}
	}
	body := follow(d.Body())
	if len(changes) == 0 && body == d.Body() {
		return text, nil
	}
	changed, err := frontmatter.Parse(d.WithBody(body)).Edit(changes...)
	if err != nil {
		return text, err
	}
	return w.stamped(frontmatter.Parse(changed), &d, frontmatter.Told)
}
