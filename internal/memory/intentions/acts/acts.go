// Package acts writes intentions: new ones, and what is done, snoozed or cancelled,
// for engramctl and the MCP server alike. Of several writers who close the same
// occurrence the first one wins, and the others are told who it was.
package acts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/write"
	"engramd/internal/platform/timeparse"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Bounds of what an intention may say in its front matter, in bytes.
const (
	MaxTrigger = 500
	MaxAction  = 2000
	maxWhere   = 200
)

// Draft is an intention in the words of who has it.
type Draft struct {
	Text string
	Slug nipae.Slug // "" draws one from the text
	// Due and Until are times as package when reads them; in the answer to a clock's
	// zone, which they keep.
	Due, Until, Every      string
	Trigger, Where, Action string
	Tags                   []string
	Trust                  string // "" or external
}

// Written is what came of a write.
type Written struct {
	write.Result
	Intention intentions.Intention // as it is now
	Next      time.Time            // when something of it is open next; zero: never again, or nothing says when
}

// Make writes a new intention. check is shown the text; nil checks nothing. Errors
// are client.ErrEmpty, write.ErrField, frontmatter.ErrHead and those of
// write.Writer.Write; a slug that is taken is a conflict.
func Make(ctx context.Context, w *write.Writer, d Draft, now time.Time, check func(old, text string) error) (Written, error) {
	text, err := d.text(now)
	if err != nil {
		return Written{}, err
	}
	if d.Slug == "" {
		if d.Slug, err = newSlug(d.Text); err != nil {
			return Written{}, err
		}
	}
	if d.Slug.IsCore() {
		return Written{}, write.ErrCore
	}
	draft := write.Draft{Text: text, Whole: true, Fields: write.Fields{Trust: d.Trust}}
	r, err := w.Write(ctx, d.Slug, draft, memory.SetOptions{Base: memory.BaseNone, Check: check})
	if err != nil {
		return Written{Result: r}, err
	}
	return written(r, now), nil
}

func written(r write.Result, now time.Time) Written {
	out := Written{Result: r}
	out.Intention, _ = intentions.Read(string(r.Slug), frontmatter.Parse(r.Text))
	if next, ok := out.Intention.Next(now); ok {
		out.Next = next
	}
	return out
}

func (d Draft) text(now time.Time) (string, error) {
	if strings.TrimSpace(d.Text) == "" {
		return "", client.ErrEmpty
	}
	for key, long := range map[string]bool{"trigger": len(d.Trigger) > MaxTrigger, "action": len(d.Action) > MaxAction, "where": len(d.Where) > maxWhere} {
		if long {
			return "", fmt.Errorf("%w: %s is too long: %d bytes of a trigger, %d of an action and %d of a place are the most", write.ErrField, key, MaxTrigger, MaxAction, maxWhere)
		}
	}
	fields := []frontmatter.Field{{Key: "type", Value: frontmatter.String(string(frontmatter.Prospective))}}
	add := func(key, value string) {
		if value = strings.TrimSpace(value); value != "" {
			fields = append(fields, frontmatter.Field{Key: key, Value: frontmatter.String(value)})
		}
	}
	if len(d.Tags) > 0 {
		fields = append(fields, frontmatter.Field{Key: "tags", Value: frontmatter.Strings(d.Tags...)})
	}
	for _, t := range []struct {
		key, text string
		use       timeparse.Use
	}{{"due", d.Due, timeparse.Begin}, {"until", d.Until, timeparse.Until}} {
		if strings.TrimSpace(t.text) == "" {
			continue
		}
		at, err := timeparse.Parse(t.text, t.use, now)
		if err != nil {
			return "", fmt.Errorf("%w: %s: %w", write.ErrField, t.key, err)
		}
		fields = append(fields, frontmatter.Field{Key: t.key, Value: frontmatter.Moment{Time: at}.Value()})
	}
	add("every", d.Every)
	add("trigger", d.Trigger)
	add("where", d.Where)
	add("action", d.Action)
	text, err := frontmatter.Render(fields, d.Text)
	if err != nil {
		return "", err
	}
	return text, fit(text, d)
}

// fit refuses what an intention could not be kept by.
func fit(text string, d Draft) error {
	slug := string(cmp.Or(d.Slug, "mem/intentions/new"))
	i, _ := intentions.Read(slug, frontmatter.Parse(text))
	if faults := frontmatter.Parse(text).Faults(); len(faults) > 0 {
		return fmt.Errorf("%w: %s: %s", write.ErrField, faults[0].Key, faults[0].Reason)
	}
	switch {
	case len(i.Faults) > 0:
		return fmt.Errorf("%w: %s", write.ErrField, i.Faults[0])
	case !i.Until.IsZero() && i.Until.Before(i.Due):
		return fmt.Errorf("%w: until is before due", write.ErrField)
	case d.Trigger != "" && !strings.ContainsFunc(d.Trigger, letter):
		return fmt.Errorf("%w: trigger: there is no word in it", write.ErrField)
	}
	return nil
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 }

// Words of a text that stand in its slug.
const (
	slugWords = 5
	slugBytes = 40
)

// newSlug draws mem/intentions/<words>-<4 hex> for a text.
func newSlug(text string) (nipae.Slug, error) {
	var id [2]byte
	_, _ = rand.Read(id[:])
	words := strings.FieldsFunc(strings.ToLower(text[:min(len(text), 400)]), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	name := ""
	for _, w := range words[:min(len(words), slugWords)] {
		if len(name)+1+len(w) > slugBytes {
			break
		}
		name += w + "-"
	}
	return nipae.ParseSlug("mem/intentions/" + cmp.Or(name, "intention-") + hex.EncodeToString(id[:]))
}

// ErrNotIntention is a memory of another type.
var ErrNotIntention = errors.New("it is no intention: its type is not prospective")

// tries is how often a closing is made anew because another text was there in the
// moment of writing.
const tries = 4

// Done closes what is open, or the occurrence that is named: see
// intentions.Intention.Done. Errors are those, ErrNotIntention, and those of
// memory.Memory.Get and write.Writer.Write.
func Done(ctx context.Context, w *write.Writer, slug nipae.Slug, occurrence, now time.Time) (Written, error) {
	return change(ctx, w, slug, now, func(i *intentions.Intention, by intentions.By) (intentions.Closing, error) {
		return i.Done(by, occurrence)
	})
}

// Snooze hides what is open until a time to come.
func Snooze(ctx context.Context, w *write.Writer, slug nipae.Slug, until, now time.Time) (Written, error) {
	return change(ctx, w, slug, now, func(i *intentions.Intention, by intentions.By) (intentions.Closing, error) {
		return i.Snooze(by, until)
	})
}

// Cancel ends an intention that is not to be done.
func Cancel(ctx context.Context, w *write.Writer, slug nipae.Slug, now time.Time) (Written, error) {
	return change(ctx, w, slug, now, func(i *intentions.Intention, by intentions.By) (intentions.Closing, error) { return i.Cancel(by) })
}

// change makes a closing of the newest text and writes it over that one only. If
// another writer was faster, it is judged by what that one left.
func change(ctx context.Context, w *write.Writer, slug nipae.Slug, now time.Time, do func(*intentions.Intention, intentions.By) (intentions.Closing, error)) (Written, error) {
	if write.Reserved(slug) {
		return Written{}, write.ErrReserved
	}
	var act [4]byte
	_, _ = rand.Read(act[:])
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
