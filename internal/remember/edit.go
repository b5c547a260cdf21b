package remember

import (
	"context"
	"fmt"
	"strings"

	"engramd/internal/client"
	"engramd/nips/nipae"
	"engramd/nips/unit"
)

// maxLines is how many lines a MatchError names.
const maxLines = 20

// MatchError is a text to be replaced that stands nowhere, or several times.
type MatchError struct {
	Lines []int // on which it begins, the first of them; of the body
	Count int
}

// Error names the lines.
func (e *MatchError) Error() string {
	if e.Count == 0 {
		return "the old text does not stand there"
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Lines), " ", ", "), "[]")
	if e.Count > len(e.Lines) {
		numbers += fmt.Sprintf(" and %d more", e.Count-len(e.Lines))
	}
	return fmt.Sprintf("the old text stands there %d times, on lines %s", e.Count, numbers)
}

// Edit replaces the one occurrence of a text in the body. The version that it
// was found in is the base of the write. Errors are those of Write, which are
// ErrNotFound and ErrTombstone too, and *MatchError.
func (w *Writer) Edit(ctx context.Context, slug nipae.Slug, old, new string, o client.SetOptions) (Result, error) {
	if Reserved(slug) {
		return Result{}, ErrReserved
	}
	head, status, err := w.Memory.Get(ctx, slug)
	body := Body(slug, head.Text)
	r := Result{Entry: head, Status: status, Outcome: Replaced, Was: len(body)}
	if err != nil {
		return r, err
	}
	if o.Base != "" && o.Base != head.Hash {
		return r, conflictWith(head, Replaced)
	}
	if old == new {
		r.Outcome = Unchanged
	}
	if err := matchOnce(body, old); err != nil || old == new {
		return r, err
	}
	o.Base = head.Hash
	if body = strings.Replace(body, old, new, 1); body == "" {
		return r, client.ErrEmpty
	}
	text := body
	if !slug.IsCore() {
		text = unit.Parse(head.Text).WithBody(body)
	}
	return w.put(ctx, r, slug, head.Text, o, func(at string) (composed, error) {
		return w.compose(slug, at, Draft{Text: text, Whole: true, arrived: []string{new}})
	})
}

// Body returns the text without its front matter, which core has none of
// whatever it looks like.
func Body(slug nipae.Slug, text string) string {
	if slug.IsCore() {
		return text
	}
	return unit.Parse(text).Body()
}

// matchOnce reports where old stands in a body, unless that is exactly once.
func matchOnce(body, old string) error {
	if old == "" {
		return fmt.Errorf("%w: the old text is empty", ErrField)
	}
	m := &MatchError{}
	line, from := 1, 0
	for {
		i := strings.Index(body[from:], old)
		if i < 0 {
			break
		}
		line += strings.Count(body[from:from+i], "\n")
		if m.Count++; len(m.Lines) < maxLines {
			m.Lines = append(m.Lines, line)
		}
		// The next one may overlap: then it is not clear which is meant either.
		line += strings.Count(body[from+i:from+i+1], "\n")
		from += i + 1
	}
	if m.Count == 1 {
		return nil
	}
	return m
}
