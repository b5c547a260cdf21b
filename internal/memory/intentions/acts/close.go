package acts

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// tries is how often a closing is made anew because another text was there in the
// moment of writing.
const tries = 4

// Done closes what is open, or the occurrence that is named: see
// intentions.Intention.Done. Errors are those, ErrNotIntention, and those of
// memory.Memory.Get and write.Writer.Write.
func Done(ctx context.Context, w *write.Writer, slug nipae.Slug, occurrence, now time.Time, random io.Reader) (Written, error) {
	return change(ctx, w, slug, now, random, func(i *intentions.Intention, by intentions.By) (intentions.Closing, error) {
		return i.Done(by, occurrence)
	})
}

// Snooze hides what is open until a time to come.
func Snooze(ctx context.Context, w *write.Writer, slug nipae.Slug, until, now time.Time, random io.Reader) (Written, error) {
	return change(ctx, w, slug, now, random, func(i *intentions.Intention, by intentions.By) (intentions.Closing, error) {
		return i.Snooze(by, until)
	})
}

// Cancel ends an intention that is not to be done.
func Cancel(ctx context.Context, w *write.Writer, slug nipae.Slug, now time.Time, random io.Reader) (Written, error) {
	return change(ctx, w, slug, now, random, func(i *intentions.Intention, by intentions.By) (intentions.Closing, error) { return i.Cancel(by) })
}

// change makes a closing of the newest text and writes it over that one only. If
// another writer was faster, it is judged by what that one left.
func change(ctx context.Context, w *write.Writer, slug nipae.Slug, now time.Time, random io.Reader, do func(*intentions.Intention, intentions.By) (intentions.Closing, error)) (Written, error) {
	if write.Reserved(slug) {
		return Written{}, write.ErrReserved
	}
	var act [4]byte
	if _, err := io.ReadFull(random, act[:]); err != nil {
		return Written{}, fmt.Errorf("draw the name of an act: %w", err)
	}
	for n := 1; ; n++ {
		head, status, err := w.Memory.Get(ctx, slug)
		r := write.Result{Entry: head, Status: status}
		if err != nil {
			return Written{Result: r}, err
		}
		d := frontmatter.Parse(head.Text)
		i, ok := intentions.Read(string(slug), d)
		if !ok || slug.IsCore() {
			return Written{Result: r}, ErrNotIntention
		}
		c, err := do(&i, intentions.By{Now: now, Who: w.Source, Act: hex.EncodeToString(act[:])})
		if err != nil {
			return Written{Result: r, Intention: i}, err
		}
		text, err := d.Edit(c.Changes...)
		if err != nil {
			return Written{Result: r, Intention: i}, err
		}
		r, err = w.Write(ctx, slug, write.Draft{Text: text, Whole: true}, memory.SetOptions{Base: head.Hash})
		if errors.Is(err, client.ErrConflict) && n < tries {
			continue
		}
		if err != nil {
			return Written{Result: r, Intention: i}, err
		}
		out := written(r, now)
		out.Next = c.Next
		return out, nil
	}
}
