package plans

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// maxListed is how many records a list has, and maxSwept how many one call removes.
const (
	maxListed = 1000
	maxSwept  = 2
)

// List returns the records as the source has them, the newest first. One that cannot
// be read is there with an Err.
func (p *Plans) List(ctx context.Context) (all []Record, err error) {
	err = p.Source.Read(ctx, func(v recallanswer.View) error { all = Records(v); return nil })
	return all, err
}

// Records returns those of a view, as List does.
func Records(v recallanswer.View) (all []Record) {
	each(v, func(id, text string) bool {
		h, err := readHead(id, text)
		r := (&record{id: id, head: h}).named()
		if err != nil {
			r = Record{ID: id, Err: err}
		}
		all = append(all, r)
		return len(all) < maxListed
	})
	slices.SortStableFunc(all, func(a, b Record) int { return b.Began.Compare(a.Began) })
	return all
}

// each calls do with the head of each record until that returns false.
func each(v recallanswer.View, do func(id, text string) bool) {
	for _, h := range v.Under(prefix) {
		id := strings.TrimPrefix(h.Slug, prefix)
		if strings.Contains(id, "/") {
			continue
		}
		if text, ok := v.Text(h.Slug); ok && !do(id, text) {
			return
		}
	}
}

// sweep removes a few records that were closed long ago: the parts first, so that one
// that was killed goes on. What fails is done by a later call.
func (p *Plans) sweep(ctx context.Context) {
	type text struct{ slug, hash string }
	var old [][]text
	err := p.Source.Read(ctx, func(v recallanswer.View) error {
		each(v, func(id, body string) bool {
			h, err := readHead(id, body)
			if err != nil || h.Closed == nil || p.now().Sub(*h.Closed) < Kept {
				return true
			}
			var one []text
			for _, part := range v.Under(fmt.Sprintf("%s%s/", prefix, id)) {
				if body, ok := v.Text(part.Slug); ok {
					one = append(one, text{part.Slug, client.Hash(body)})
				}
			}
			old = append(old, append(one, text{prefix + id, client.Hash(body)}))
			return len(old) < maxSwept
		})
		return nil
	})
	if err != nil {
		return
	}
	w := &writer{memory: p.Memory}
	for _, one := range old {
		for _, t := range one {
			if err := w.put(ctx, nipae.Slug(t.slug), nil, clientmemory.SetOptions{Base: t.hash}); err != nil {
				return
			}
		}
	}
}

// loadHead reads the head of a record. The error is ErrNoRecord, ErrRecord, or that
// of the memory.
func (w *writer) loadHead(ctx context.Context, id string) (*record, error) {
	if !recordID().MatchString(id) {
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
