package write

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Edge is one relation from a memory to another.
type Edge struct {
	From, To nipae.Slug
	Relation string  // of frontmatter.Relations
	Strength float64 // above 0, at most 1
}

func (e Edge) check() error {
	switch {
	case Reserved(e.From):
		return ErrReserved
	case e.From.IsCore():
		return fmt.Errorf("%w: write [[%s]] in its text instead", ErrCore, e.To)
	case !slices.Contains(frontmatter.Relations, e.Relation):
		return fmt.Errorf("%w: relation must be one of %s", ErrField, strings.Join(frontmatter.Relations, ", "))
	case !(e.Strength > 0 && e.Strength <= 1):
		return fmt.Errorf("%w: strength must be a number above 0, at most 1", ErrField)
	case e.From == e.To:
		return fmt.Errorf("%w: a memory is not related to itself", ErrField)
	}
	return nil
}

// AbsentError is an end of an edge that is not there, or a memory to supersede.
type AbsentError struct {
	Slug nipae.Slug
	error
}

// Unwrap gives errors.Is the cause.
func (e *AbsentError) Unwrap() error { return e.error }

// Error names the memory.
func (e *AbsentError) Error() string { return fmt.Sprintf("%s: %v", e.Slug, e.error) }

// Relate writes an edge into the front matter of its first end; one that is
// there gets the strength. Both ends must exist: *AbsentError. Other errors are
// those of Write.
func (w *Writer) Relate(ctx context.Context, e Edge, o memory.SetOptions) (Result, error) {
	if err := e.check(); err != nil {
		return Result{}, err
	}
	if _, status, err := w.Memory.Get(ctx, e.To); err != nil {
		return Result{Status: status}, &AbsentError{e.To, err}
	}
	return w.relate(ctx, e, o, func(items []string) []string {
		item := frontmatter.Relation{Target: string(e.To), Strength: e.Strength}.Value()
		if at := slices.IndexFunc(items, func(i string) bool { return target(i) == string(e.To) }); at >= 0 {
			items[at] = item
			return items
		}
		return append(items, item)
	})
}

// Unrelate takes an edge away; its other end need not exist. The error is
// ErrField if there is no such edge.
func (w *Writer) Unrelate(ctx context.Context, e Edge, o memory.SetOptions) (Result, error) {
	e.Strength = 1
	if err := e.check(); err != nil {
		return Result{}, err
	}
	return w.relate(ctx, e, o, func(items []string) []string {
		return slices.DeleteFunc(items, func(i string) bool { return target(i) == string(e.To) })
	})
}

// relate changes the items of a relation. No item less of those that are to be
// taken away is an error.
func (w *Writer) relate(ctx context.Context, e Edge, o memory.SetOptions, change func([]string) []string) (Result, error) {
	r, err := w.there(ctx, e.From, o.Base)
	switch {
	case errors.Is(err, client.ErrConflict):
		return r, err
	case err != nil:
		return r, &AbsentError{e.From, err}
	}
	return w.change(ctx, r, e.From, o, func(old string) (composed, error) {
		d := frontmatter.Parse(old)
		v, _ := d.Value(e.Relation)
		if len(v.Pairs()) > 0 {
			return composed{}, fmt.Errorf("%w: %s of %s is not a list", ErrField, e.Relation, e.From)
		}
		items := v.Items()
		to := frontmatter.Set(e.Relation, frontmatter.Strings(change(slices.Clone(items))...))
		if after := change(slices.Clone(items)); len(after) == 0 && len(items) == 0 {
			return composed{}, fmt.Errorf("%w: %s has no %s to %s", ErrField, e.From, e.Relation, e.To)
		} else if len(after) == 0 {
			to = frontmatter.Remove(e.Relation)
		}
		text, err := d.Edit(to)
		if err != nil {
			return composed{}, err
		}
		text, err = w.stamped(frontmatter.Parse(text), &d, frontmatter.Told)
		return composed{text: text}, err
	})
}

// Supersede writes a draft, and then marks the memories that it supersedes,
// which must be there: *AbsentError, before anything is written. Those that
// could not be marked are returned with the reason; the draft stands all the
// same.
func (w *Writer) Supersede(ctx context.Context, slug nipae.Slug, in Draft, o memory.SetOptions) (r Result, marked []nipae.Slug, failed []*AbsentError, err error) {
	for _, old := range in.Fields.Supersedes {
		if Reserved(old) {
			return r, nil, nil, ErrReserved
		}
		if _, status, err := w.Memory.Get(ctx, old); err != nil {
			return Result{Status: status}, nil, nil, &AbsentError{old, err}
		}
	}
	if r, err = w.Write(ctx, slug, in, o); err != nil {
		return r, nil, nil, err
	}
	for _, old := range in.Fields.Supersedes {
		_, err := w.Write(ctx, old, Draft{Fields: Fields{state: frontmatter.Superseded}}, memory.SetOptions{Check: o.Check, Whole: true})
		if err != nil {
			failed = append(failed, &AbsentError{old, err})
			continue
		}
		marked = append(marked, old)
	}
	return r, marked, failed, nil
}
