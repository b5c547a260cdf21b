package plans

import (
	"context"
	"fmt"

	"engramd/internal/client"
)

// loadHead reads the head of a record. The error is ErrNoRecord, ErrRecord, or that
// of the memory.
func (w *writer) loadHead(ctx context.Context, id string) (*record, error) {
	if !recordID.MatchString(id) {
		return nil, ErrID
	}
	now, err := w.get(ctx, headSlug(id))
	if err != nil {
		return nil, err
	}
	if !now.ok {
		return nil, ErrNoRecord
	}
	h, err := readHead(id, now.text)
	return &record{id: id, head: h, text: now.text}, err
}

// loadContent reads the parts of a record.
func (w *writer) loadContent(ctx context.Context, r *record) error {
	var texts []string
	for i, hash := range r.Parts {
		now, err := w.get(ctx, partSlug(r.id, r.From+i))
		if err != nil {
			return fmt.Errorf("read the record of %s: %w", r.id, err)
		}
		if !now.ok || client.Hash(now.text) != hash {
			return fmt.Errorf("%w: part %d of %s is not what it was", ErrRecord, i+1, r.id)
		}
		texts = append(texts, now.text)
	}
	c, err := readContent(r.head, texts)
	r.content = c
	return err
}

func (w *writer) load(ctx context.Context, id string) (*record, error) {
	r, err := w.loadHead(ctx, id)
	if err != nil {
		return nil, err
	}
	return r, w.loadContent(ctx, r)
}
