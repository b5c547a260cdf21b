package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Memory is what is written to; *memory.Memory implements it.
type Memory interface {
	Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error)
	ListAll(ctx context.Context) (memory.Listing, client.Status, error)
	Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error)
	RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error)
}

var _ Memory = (*memory.Memory)(nil)

// Writer writes for one agent in one session.
type Writer struct {
	Memory  Memory
	Source  string           // who writes: stamped
	Session string           // stamped; "" for none
	Read    []string         // what of somebody else's words the session was shown: stamped
	Project string           // stamped into new episodes; "" for none
	Clock   func() time.Time // nil means time.Now
	Copied  Copied           // nil: nothing is known to be copied
	// Pause waits before a change is made again, the n-th time; nil waits for a random
	// moment.
	Pause func(ctx context.Context, n int) error
	// Holds returns the active memories that would be found in place of one if it were
	// archived; nil knows none.
	Holds func(ctx context.Context, slug string) []string
}

// Outcome says what a write has done.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Replaced  Outcome = "replaced"
	Unchanged Outcome = "unchanged" // it said this already, and nothing was written
	Written   Outcome = "written"   // what was there before is not known
)

// Result is what came of a write. The Status is set also beside an error.
type Result struct {
	client.Entry
	Status  client.Status
	Outcome Outcome
	Was     int    // the size of the body that was replaced
	From    string // the external memory that the words are from, "" if none
}

// tries is how often a text is composed anew because another one was there in
// the moment of writing.
const tries = 4

// Write writes a draft. Errors are those of memory.Memory.Get and Set, of which
// ErrNotFound and ErrTombstone are none, client.ErrEmpty, ErrField, ErrReserved,
// those of frontmatter.Doc.Edit, and *ClaimError for the core.
func (w *Writer) Write(ctx context.Context, slug nipae.Slug, in Draft, o memory.SetOptions) (Result, error) {
	if Reserved(slug) {
		return Result{}, ErrReserved
	}
	if in.Fields.Expires.At > 0 {
		o.Expires = in.Fields.Expires
	}
	unknown := false // what is there: the write may wait until that is known
	r, head, err := w.before(ctx, slug)
	blind := o.Base == "" && !o.Whole && in.Text != ""
	switch {
	case err == nil:
	case errors.Is(err, client.ErrPartial) && blind, errors.Is(err, client.ErrUnreadable) && o.OverUnreadable && blind:
	case mayWait(err, o) && in.Text != "":
		unknown = true
	default:
		return r, err
	}
	o.Later = later(o.Later, r.Status, err, memory.Later{})
	compose := func(old string) (composed, error) { return w.compose(slug, old, in) }
	new, err := compose(head.Text)
	if err != nil {
		return r, err
	}
	if r.Outcome == Replaced && new.text == head.Text && (o.Expires.At == 0 || o.Expires.At == head.Expires) && (!r.Status.Partial || r.Status.Stale) {
		// This holds also if the base is the version before: the call was made
		// before.
		r.Entry, r.Outcome = head, Unchanged
		return r, nil
	}
	if o.Base != "" && !unknown && head.Hash != o.Base && !(o.Base == memory.BaseNone && head.Hash == "") {
		return r, conflictWith(head, r.Outcome)
	}
	return w.put(ctx, r, slug, head.Text, o, compose)
}

// Append adds text at the end, on a new line, to the newest version that every
// relay knows; without a base of the caller's also to one that is written meanwhile. Errors
// are those of Write.
func (w *Writer) Append(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (Result, error) {
	if Reserved(slug) {
		return Result{}, ErrReserved
	}
	return rebasing(ctx, w, slug, o.Base, text, func() (Result, error) { return appendOnce(ctx, w, slug, text, o) })
}

func appendOnce(ctx context.Context, w *Writer, slug nipae.Slug, text string, o memory.SetOptions) (Result, error) {
	r, head, err := w.before(ctx, slug)
	unknown := mayWait(err, o)
	if err != nil && !unknown {
		return r, err
	}
	o.Later = later(o.Later, r.Status, err, memory.Later{Append: text})
	if !unknown {
		o.Base = cmp.Or(o.Base, head.Hash, memory.BaseNone)
	}
	o.Whole = true // a relay that failed may have a newer text than the one that was read
	return w.put(ctx, r, slug, head.Text, o, func(old string) (composed, error) {
		d := frontmatter.Parse(old)
		if slug.IsCore() { // it has no front matter, whatever it looks like
			return w.compose(slug, old, Draft{Text: joined(old, text), Whole: true})
		}
		if old == "" {
			return w.compose(slug, old, Draft{Text: text})
		}
		return w.compose(slug, old, Draft{Text: d.WithBody(joined(d.Body(), text)), Whole: true, arrived: []string{text}})
	})
}

// later says of a write that may wait how it was made, and whether a relay answered the
// reading before it.
func later(l *memory.Later, status client.Status, err error, how memory.Later) *memory.Later {
	if l == nil {
		return nil
	}
	if how == (memory.Later{}) {
		how = *l
	}
	how.Silent = status.Stale || status.Queued || client.Silent(err)
	return &how
}

// mayWait reports whether a write may be made though what is there could not be read: it
// waits until a relay answers, or who decides.
func mayWait(err error, o memory.SetOptions) bool {
	return o.Later != nil && (client.Silent(err) || errors.Is(err, client.ErrUndecided))
}

func joined(body, text string) string {
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return body + text
}

// before reads what a write is about to replace. It is not an error if there is
// nothing; the text is "" then.
func (w *Writer) before(ctx context.Context, slug nipae.Slug) (Result, client.Entry, error) {
	head, status, err := w.Memory.Get(ctx, slug)
	r := Result{Status: status, Outcome: Written}
	switch {
	case err == nil:
		r.Outcome, r.Was = Replaced, len(Body(slug, head.Text))
		return r, head, nil
	case errors.Is(err, client.ErrPartial), errors.Is(err, client.ErrNoRelay):
		return r, client.Entry{}, err
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone):
		r.Outcome = Created
		head.Text, head.Hash = "", ""
		return r, head, nil
	}
	return r, client.Entry{}, err
}

// there reads a memory that is to be changed; a base is what it must be.
func (w *Writer) there(ctx context.Context, slug nipae.Slug, base string) (Result, error) {
	head, status, err := w.Memory.Get(ctx, slug)
	if err == nil && base != "" && base != head.Hash {
		err = conflictWith(head, Replaced)
	}
	return Result{Entry: head, Status: status, Outcome: Replaced, Was: len(Body(slug, head.Text))}, err
}

// change writes what is composed of the memory that is there; the same text writes
// nothing.
func (w *Writer) change(ctx context.Context, r Result, slug nipae.Slug, o memory.SetOptions, compose func(old string) (composed, error)) (Result, error) {
	new, err := compose(r.Text)
	if err != nil {
		return r, err
	}
	if new.text == r.Text && !r.Status.Partial {
		r.Outcome = Unchanged
		return r, nil
	}
	return w.put(ctx, r, slug, r.Text, o, compose)
}

func conflictWith(head client.Entry, outcome Outcome) error {
	conflict := &client.ConflictError{Reason: "the text is not the one that the change was made for"}
	if outcome == Replaced || head.Tombstone {
		conflict.Theirs = &head
	}
	return conflict
}

// movedError is another text in the moment of writing than the one that was
// composed for.
type movedError struct{ now string }

func (*movedError) Error() string { return "another text is there by now" }

// put writes what is composed of the text that is there. With a base it is a
// conflict if that is another one by now; without, it is composed again.
func (w *Writer) put(ctx context.Context, r Result, slug nipae.Slug, old string, o memory.SetOptions, compose func(old string) (composed, error)) (Result, error) {
	check := o.Check
	for range tries {
		new, err := compose(old)
		if err == nil {
			err = w.Keeps(ctx, slug, old, new.text)
		}
		if err != nil {
			return r, err
		}
		o.Check = func(now, text string) error {
			if now != old {
				return &movedError{now}
			}
			if check == nil {
				return nil
			}
			return check(now, text)
		}
		e, status, err := w.Memory.Set(ctx, slug, new.text, o)
		if status.Queued && len(status.Relays) == 0 { // none was asked again
			status.Relays, status.Stale = r.Status.Relays, r.Status.Stale || !r.Status.Queued
		}
		r.Entry, r.Status, r.From = e, status, new.from
		var moved *movedError
		if !errors.As(err, &moved) {
			return r, err
		}
		if o.Base != "" {
			return r, &client.ConflictError{Reason: moved.Error()}
		}
		old = moved.now
	}
	return r, &client.ConflictError{Reason: fmt.Sprintf("another text was there each of %d times", tries)}
}

// Keeps refuses a text that archives a correction (ErrField) while what it corrects is
// active, as far as Holds knows: that would be found in its place. old is what the text
// is to replace.
func (w *Writer) Keeps(ctx context.Context, slug nipae.Slug, old, text string) error {
	if w.Holds == nil || slug.IsCore() || old == "" || stateOf(text) != frontmatter.Archived || stateOf(old) != frontmatter.Active {
		return nil
	}
	for _, other := range w.Holds(ctx, string(slug)) {
		if isActive(ctx, w.Memory, nipae.Slug(other)) {
			return fmt.Errorf("%w: %s corrects what %s says, which would be found in its place: archive that first", ErrField, slug, other)
		}
	}
	return nil
}

// Unmarked returns what a text supersedes and is active all the same, as far as it can
// be read: nothing is hidden before it is marked, as Supersede does.
func (w *Writer) Unmarked(ctx context.Context, text string) (all []nipae.Slug) {
	for _, r := range frontmatter.Parse(text).Fields().Relations {
		slug, err := nipae.NormalizeSlug(r.Target)
		if r.Relation == "supersedes" && err == nil && len(all) < MaxSupersedes && isActive(ctx, w.Memory, slug) {
			all = append(all, slug)
		}
	}
	return all
}

// isActive reports whether a memory is there and active, whatever a copy says.
func isActive(ctx context.Context, m Memory, slug nipae.Slug) bool {
	head, _, err := m.Get(ctx, slug)
	return err == nil && stateOf(head.Text) == frontmatter.Active
}

func stateOf(text string) frontmatter.State { return frontmatter.Parse(text).Fields().State }
