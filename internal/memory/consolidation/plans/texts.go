package plans

import (
	"context"
	"errors"
	"slices"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/nips/nipae"
)

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
	e, _, err := w.memory.Get(ctx, slug)
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
