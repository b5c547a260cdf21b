package plans

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// strictly reads one value of JSON that is all of a text.
func strictly(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the end")
	}
	return nil
}

// readHead reads what is said to be a head. The error is ErrRecord.
func readHead(id, text string) (h head, err error) {
	if !recordID().MatchString(id) {
		return h, fmt.Errorf("%w: its slug is no plan's", ErrRecord)
	}
	if len(text) > maxBody {
		return h, fmt.Errorf("%w: it is too long", ErrRecord)
	}
	if err := strictly(text, &h); err != nil {
		return h, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	switch {
	case h.Plan != id && !strings.HasPrefix(id, h.Plan+"-"), !consolidation.IsID(h.Plan):
		err = errors.New("it is another plan's")
	case !h.Status.known():
		err = errors.New("its status is unknown")
	case h.Status.closed() != (h.Closed != nil):
		err = errors.New("it is neither open nor closed")
	case len(h.Parts) == 0 || len(h.Parts) > maxParts || h.From < 1 || h.From > 2*maxParts:
		err = errors.New("its parts cannot be counted")
	case len(h.Machine) > maxMachine || slices.ContainsFunc(slices.Concat(h.Left, h.UndoLeft), func(l Left) bool { return len(l.Slug) > maxWhy || len(l.Why) > maxWhy }):
		err = errors.New("what it says is too long")
	case len(h.Old) > maxChanges:
		err = errors.New("it names too many events")
	}
	if err == nil && h.Before != nil && (len(h.Before.Parts) == 0 || len(h.Before.Parts) > maxParts || h.Before.From != 1 || len(h.Before.Old) > maxChanges) {
		err = errors.New("its proposal's parts cannot be counted")
	}
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return h, nil
}

// readContent reads what the parts say, and believes none of it unchecked: whoever
// has the key could have written it. The error is ErrRecord.
func readContent(h head, texts []string) (c content, err error) {
	if err := strictly(strings.Join(texts, ""), &c); err != nil {
		return c, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	wrong := func(what string) error { return fmt.Errorf("%w: %s", ErrRecord, what) }
	ops, err := opsHash(c.Operations)
	switch {
	case err != nil:
		return c, err
	case c.Plan.ID != h.Plan || c.Plan.Identify().ID != h.Plan || c.Plan.Kind != h.Kind:
		return c, wrong("it holds another plan")
	case ops != h.Ops:
		return c, wrong("it holds other operations")
	case len(c.Changes) != len(h.Old):
		return c, wrong("it does not hold the changes that it names")
	}
	seen := map[string]bool{}
	for _, ch := range c.Changes {
		slug, err := nipae.ParseSlug(ch.Slug)
		switch {
		case err != nil || slug.IsCore() || recallanswer.Reserved(ch.Slug) || seen[ch.Slug]:
			return c, wrong("it changes what no plan changes")
		case ch.Base == "" && ch.Old != "", ch.Base != "" && client.Hash(ch.Old) != ch.Base:
			return c, wrong("a text is not the one that it was made from")
		case ch.Op < 0 || ch.Op >= len(c.Operations) || ch.New == "":
			return c, wrong("a change belongs to no operation")
		}
		seen[ch.Slug] = true
	}
	return c, nil
}

// writer reads and writes texts, and knows which relays were left behind.
type writer struct {
	memory Memory
	behind []string
}

// there is what stands at a slug.
type there struct {
	id   string
	text string
	ok   bool // there is a text
}

func (t there) is(text *string) bool {
	if text == nil {
		return !t.ok
	}
	return t.ok && t.text == *text
}

// get reads what stands at a slug. That nothing does is known only if every relay
// says so (client.ErrPartial).
func (w *writer) get(ctx context.Context, slug nipae.Slug) (there, error) {
	e, status, err := w.memory.Get(ctx, slug)
	err = cmp.Or(err, status.Unasked())
	switch {
	case err == nil:
		return there{id: e.ID, text: e.Text, ok: true}, nil
	case errors.Is(err, client.ErrPartial):
		return there{}, err
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone):
		return there{}, nil
	}
	return there{}, err
}

// put writes a text, or removes one (nil), by a base. An answer that was lost is no
// error if the text is there.
func (w *writer) put(ctx context.Context, slug nipae.Slug, text *string, o clientmemory.SetOptions) error {
	var status client.Status
	var err error
	if text == nil {
		_, status, err = w.memory.RemoveVersion(ctx, slug, o.Base)
	} else {
		o.AllowEmpty = true
		_, status, err = w.memory.Set(ctx, slug, *text, o)
	}
	if err != nil {
		if now, readErr := w.get(ctx, slug); readErr != nil || !now.is(text) {
			return err
		}
	}
	for _, s := range status.Published {
		if !s.Accepted && !slices.Contains(w.behind, s.URL) {
			w.behind = append(w.behind, s.URL)
		}
	}
	return nil
}

// step brings one unit from one text to another, nil being none. It is done if the
// text is there already; why says that it was left because another one is there.
func (w *writer) step(ctx context.Context, slug nipae.Slug, from, to *string) (why string, now there, err error) {
	now, err = w.get(ctx, slug)
	switch {
	case errors.Is(err, client.ErrUnreadable):
		return "it cannot be read", now, nil
	case err != nil || now.is(to):
		return "", now, err
	case !now.is(from):
		return changedWhy(now), now, nil
	}
	o := clientmemory.SetOptions{Base: clientmemory.BaseNone}
	if from != nil {
		o.Base = client.Hash(*from)
	}
	err = w.put(ctx, slug, to, o)
	if !errors.Is(err, client.ErrConflict) {
		return "", now, err
	}
	if errors.Is(err, client.ErrClockPoisoned) {
		return "its time lies too far ahead of the clock", now, nil
	}
	// Somebody else was there first, and is left as they wrote it.
	if after, readErr := w.get(ctx, slug); readErr != nil || after.is(from) {
		return "", after, err
	} else if !after.is(to) {
		return changedWhy(after), after, nil
	}
	return "", now, nil
}

func changedWhy(now there) string {
	if now.ok {
		return "it was changed meanwhile"
	}
	return "it was removed meanwhile"
}
