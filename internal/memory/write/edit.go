package write

import (
	"context"
	"fmt"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/quote"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// maxLines is how many lines a MatchError names.
const maxLines = 20

// MatchError is a text to be replaced that stands nowhere, or several times.
type MatchError struct {
	Lines []int // on which it begins, the first of them; of the body
	Count int
	// Told says that the old text was taken from one that is told (internal/memory/quote),
	// in which other characters stand for some of the memory's.
	Told bool
}

// Error names the lines.
func (e *MatchError) Error() string {
	if e.Told {
		return "the old text does not stand there: ‹, ⟦ and ♯ stand for other characters in what hooks and memory_recall show, which is not for copying; memory_read gives the text itself"
	}
	if e.Count == 0 {
		return "the old text does not stand there"
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Lines), " ", ", "), "[]")
	if e.Count > len(e.Lines) {
		numbers += fmt.Sprintf(" and %d more", e.Count-len(e.Lines))
	}
	return fmt.Sprintf("the old text stands there %d times, on lines %s", e.Count, numbers)
}

// Edit replaces the one occurrence of a text in the body; without a base of the caller's
// also in one that is written meanwhile. Errors are those of Rewrite and *MatchError.
func (w *Writer) Edit(ctx context.Context, slug nipae.Slug, old, new string, o memory.SetOptions) (Result, error) {
	if o.Later != nil {
		o.Later = &memory.Later{Old: old, New: new}
	}
	change := func(head client.Entry, body string) (string, string, error) {
		if err := matchOnce(body, old); err != nil {
			return "", "", err
		}
		if body = strings.Replace(body, old, new, 1); body == "" {
			return "", "", client.ErrEmpty
		}
		return body, new, nil
	}
	return rebasing(ctx, w, slug, o.Base, new, func() (Result, error) { return rewrite(ctx, w, slug, change, o) })
}

// Rewrite puts what change makes of the body in its place, and leaves the fields;
// arrived are the words that are new in it. The version that change was shown is
// the base of the write, and the same body writes nothing; where Later says that a part is
// replaced, it is Edit. Errors are those of Write and of change, and ErrNotFound and
// ErrTombstone.
func (w *Writer) Rewrite(ctx context.Context, slug nipae.Slug, change func(head client.Entry, body string) (changed, arrived string, err error), o memory.SetOptions) (Result, error) {
	once := func() (Result, error) { return rewrite(ctx, w, slug, change, o) }
	if o.Later == nil || o.Later.Old == "" {
		return once()
	}
	return rebasing(ctx, w, slug, o.Base, o.Later.New, once)
}

func rewrite(ctx context.Context, w *Writer, slug nipae.Slug, change func(head client.Entry, body string) (changed, arrived string, err error), o memory.SetOptions) (Result, error) {
	if Reserved(slug) {
		return Result{}, ErrReserved
	}
	r, err := w.there(ctx, slug, o.Base)
	if err != nil {
		return r, err
	}
	head, body := r.Entry, Body(slug, r.Text)
	changed, arrived, err := change(head, body)
	if err != nil {
		return r, err
	}
	if changed == body {
		r.Outcome = Unchanged
		return r, nil
	}
	o.Base, o.Later = head.Hash, later(o.Later, r.Status, nil, memory.Later{})
	text := changed
	if !slug.IsCore() {
		text = withBody(frontmatter.Parse(head.Text), changed)
	}
	return w.put(ctx, r, slug, head.Text, o, func(at string) (composed, error) {
		return w.compose(slug, at, Draft{Text: text, Whole: true, arrived: []string{arrived}})
	})
}

// Create writes a body, whatever it looks like, where nothing may be (ErrTaken);
// every relay must say so (ErrPartial). path is where the writer has it, "" for
// nowhere else than the slug says. Other errors are those of Write.
func (w *Writer) Create(ctx context.Context, slug nipae.Slug, body, path string, o memory.SetOptions) (Result, error) {
	if Reserved(slug) {
		return Result{}, ErrReserved
	}
	r, head, err := w.before(ctx, slug)
	if err != nil && !(client.Silent(err) && o.Later != nil) {
		return r, err
	}
	o.Later = later(o.Later, r.Status, err, memory.Later{})
	if r.Outcome == Replaced {
		r.Entry = head
		return r, ErrTaken
	}
	text := body
	if !slug.IsCore() {
		if text, err = pathed(frontmatter.Parse(withBody(frontmatter.Doc{}, body)), path); err != nil {
			return r, err
		}
	}
	o.Base, o.Whole = memory.BaseNone, true
	return w.put(ctx, r, slug, "", o, func(at string) (composed, error) {
		return w.compose(slug, at, Draft{Text: text, Whole: true})
	})
}

// withBody returns the text with another body, which may be empty: then its fields
// say something, since a text that is empty is none.
func withBody(d frontmatter.Doc, body string) string {
	if text := d.WithBody(body); text != "" {
		return text
	}
	text, _ := d.Edit(frontmatter.Set("type", frontmatter.String(string(frontmatter.Semantic)))) // fits
	return text
}

// pathed returns the text with that path, without one for "".
func pathed(d frontmatter.Doc, path string) (string, error) {
	if path == "" {
		return d.Edit(frontmatter.Remove("path"))
	}
	return d.Edit(frontmatter.Set("path", frontmatter.String(path)))
}

// Body returns the text without its front matter, which core has none of
// whatever it looks like.
func Body(slug nipae.Slug, text string) string {
	if slug.IsCore() {
		return text
	}
	return frontmatter.Parse(text).Body()
}

// Occurrences returns on which lines of a body a text begins, at most so many, and how
// often it does. One may overlap another: then it is not clear which is meant either.
func Occurrences(body, old string, most int) (lines []int, count int) {
	for line, from := 1, 0; from <= len(body); from++ {
		i := strings.Index(body[from:], old)
		if i < 0 {
			break
		}
		line += strings.Count(body[from:from+i], "\n")
		if count++; len(lines) < most {
			lines = append(lines, line)
		}
		if from += i; from < len(body) && body[from] == '\n' {
			line++
		}
	}
	return lines, count
}

// matchOnce reports where old stands in a body, unless that is exactly once.
func matchOnce(body, old string) error {
	if old == "" {
		return fmt.Errorf("%w: the old text is empty", ErrField)
	}
	m := &MatchError{}
	if m.Lines, m.Count = Occurrences(body, old, maxLines); m.Count == 1 {
		return nil
	}
	m.Told = m.Count == 0 && quote.Broken(old)
	return m
}
