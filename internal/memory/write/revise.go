package write

import (
	"context"
	"errors"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// maxAround is how many lines around what was changed tell where it is.
const maxAround = 20

// Revise writes what somebody made of a text, which is the base; "" is none. Where somebody
// else wrote first, only the part that was changed is put into what is there then, if it
// stands there once, as whole lines. Errors are those of Write.
func Revise(ctx context.Context, w *Writer, slug nipae.Slug, old, text string, o memory.SetOptions) (Result, error) {
	o.Base = memory.BaseNone
	if old != "" {
		o.Base = client.Hash(old)
	}
	r, err := w.Write(ctx, slug, Draft{Text: text, Whole: true}, o)
	part, by := changed(slug, old, text)
	if !errors.Is(err, client.ErrConflict) || part == "" {
		return r, err
	}
	r, again, err := stored(ctx, w, slug, by, r, err)
	if !again || ctx.Err() != nil {
		return r, err
	}
	o.Base = ""
	change := func(_ client.Entry, body string) (string, string, error) {
		return inLines(body, part, by)
	}
	next, failed := rebasing(ctx, w, slug, "", by, func() (Result, error) { return rewrite(ctx, w, slug, change, o) })
	if gone(failed) {
		return r, err
	}
	next.Status.Rebased++
	return next, failed
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
		if _, once := lineOf(was, part); part != "" && once {
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

// inLines puts by in the place of a part that stands in a body once, as whole lines.
func inLines(body, part, by string) (changed, arrived string, err error) {
	at, once := lineOf(body, part)
	if !once {
		return "", "", &MatchError{}
	}
	rest := body[at+len(part):]
	switch ended := strings.HasSuffix(part, "\n"); {
	case rest == "":
	case ended && by != "" && !strings.HasSuffix(by, "\n"):
		by += "\n" // it was the last line
	case !ended && by == "":
		rest = rest[1:]
	}
	if changed = body[:at] + by + rest; changed == "" {
		return "", "", client.ErrEmpty
	}
	return changed, by, nil
}

// lineOf returns where in a body a part begins that is whole lines of it, and whether it
// stands there once.
func lineOf(body, part string) (at int, once bool) {
	for begin := 0; begin < len(body); {
		end := begin + len(part)
		if strings.HasPrefix(body[begin:], part) && (strings.HasSuffix(part, "\n") || end == len(body) || body[end] == '\n') {
			if once {
				return 0, false
			}
			at, once = begin, true
		}
		next := strings.IndexByte(body[begin:], '\n')
		if next < 0 {
			break
		}
		begin += next + 1
	}
	return at, once
}
