package write

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

const (
	// rebases is how often a change is made again.
	rebases = 16
	// firstPause is the longest that is waited before the first time; it doubles.
	firstPause = 20 * time.Millisecond
)

// rebasing makes a change, and, as long as the caller gave no base, makes it again where
// somebody else wrote first: on what is there then, if the place is. It does so after a
// conflict of which nothing was sent, and nothing else; where it is not known whether the
// change is stored, it is looked up, and not made twice. added are its words.
func rebasing(ctx context.Context, w *Writer, slug nipae.Slug, base, added string, change func() (Result, error)) (Result, error) {
	r, err := change()
	for n := 1; base == "" && err != nil; n++ {
		conflict, conflicts := errors.AsType[*client.ConflictError](err)
		switch {
		case errors.Is(err, client.ErrUnverified), client.Silent(err) && len(r.Status.Published) > 0:
			if keeper, ok := w.Memory.(keeper); ok {
				if there, unknown := keeper.Has(ctx, slug, r.ID); unknown == nil && there {
					r.Status.Answered()
					return r, nil
				}
			}
			return r, err
		case conflicts && conflict.Sent && conflict.Theirs != nil && r.Status.Decider != "" && holds(conflict.Theirs.Text, r.Text, added):
			r.Entry = *conflict.Theirs // made from ours, before we had looked again
			return r, nil
		case !conflicts, conflict.Sent, client.Accepted(r.Status.Published) > 0:
			return r, err
		}
		if n > rebases || pause(ctx, w, n) != nil {
			return r, err
		}
		again, failed := change()
		if gone(failed) {
			return r, err
		}
		r, err = again, failed
		r.Status.Rebased = n
	}
	return r, err
}

// gone reports whether there is no place for an edit any more.
func gone(err error) bool {
	_, match := errors.AsType[*MatchError](err)
	return match || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone)
}

// keeper tells whether an event was stored; *memory.Memory implements it.
type keeper interface {
	Has(ctx context.Context, slug nipae.Slug, id string) (bool, error)
}

// holds reports whether a text that a relay took after ours has what ours added.
func holds(theirs, ours, added string) bool {
	return added != "" && strings.Count(theirs, added) >= strings.Count(ours, added)
}

// maxAround is how many lines around what was changed tell where it is.
const maxAround = 20

// Revise writes what somebody made of a text, which is the base; "" is none. Where somebody
// else wrote first, only the part that was changed is put into what is there then. Errors
// are those of Write.
func Revise(ctx context.Context, w *Writer, slug nipae.Slug, old, text string, o memory.SetOptions) (Result, error) {
	o.Base = memory.BaseNone
	if old != "" {
		o.Base = client.Hash(old)
	}
	r, err := w.Write(ctx, slug, Draft{Text: text, Whole: true}, o)
	conflict, conflicts := errors.AsType[*client.ConflictError](err)
	part, by := changed(slug, old, text)
	if !conflicts || conflict.Sent || client.Accepted(r.Status.Published) > 0 || part == "" {
		return r, err
	}
	o.Base = ""
	again, failed := w.Edit(ctx, slug, part, by, o)
	if gone(failed) {
		return r, err
	}
	again.Status.Rebased++
	return again, failed
}

// changed returns what of a text became what in another, in whole lines that stand in its
// body once; "" if there is no such part, or the fields changed too.
func changed(slug nipae.Slug, old, text string) (part, by string) {
	was, now := Body(slug, old), Body(slug, text)
	if strings.TrimSuffix(old, was) != strings.TrimSuffix(text, now) {
		return "", ""
	}
	a, b := strings.SplitAfter(was, "\n"), strings.SplitAfter(now, "\n")
	begin, end, both := 0, 0, min(len(a), len(b))
	for begin < both && a[begin] == b[begin] {
		begin++
	}
	for end < both-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for range maxAround {
		part, by = strings.Join(a[begin:len(a)-end], ""), strings.Join(b[begin:len(b)-end], "")
		if !strings.HasSuffix(part, "\n") {
			by = strings.TrimSuffix(by, "\n") // which editors add at the end
		}
		if part != "" && matchOnce(was, part) == nil {
			return part, by
		}
		if begin > 0 {
			begin--
		} else if end > 0 {
			end--
		}
	}
	return "", ""
}

// pause waits before the n-th time, so that two writers do not meet each time.
func pause(ctx context.Context, w *Writer, n int) error {
	if w.Pause != nil {
		return w.Pause(ctx, n)
	}
	select {
	case <-time.After(rand.N(firstPause << min(n-1, 5))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
