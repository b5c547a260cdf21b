package plans

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"engramd/internal/client"
	memorystate "engramd/internal/memory/state"
)

const (
	// openPrefix is what the state calls a record that this machine has begun.
	openPrefix = "open/"
	// neverExpires is how long such a note stays: nobody drops it in silence.
	neverExpires = 100 * 365 * 24 * time.Hour
)

// opened is what the state notes of a record that this machine has begun.
type opened struct {
	Plan  string `json:"plan"`
	Nonce string `json:"nonce"` // of its claim
	// Had is the nonce that it had here before: nobody knows whether the record has
	// the new one.
	Had string `json:"had,omitempty"`
}

// owns reports whether a claim is this machine's.
func (o opened) owns(nonce string) bool {
	return nonce != "" && (nonce == o.Nonce || nonce == o.Had)
}

// note has the state know that this machine is at a record, before the memory does.
func (p *Plans) note(ctx context.Context, r *record, had string) error {
	data, err := json.Marshal(opened{Plan: r.head.Plan, Nonce: r.Nonce, Had: had})
	if err != nil {
		return fmt.Errorf("note the plan: %w", err)
	}
	return p.put(ctx, memorystate.Plan{ID: openPrefix + r.id, Data: data, Expires: p.now().Add(neverExpires)}, r.head.Plan)
}

func (p *Plans) nonce() (string, error) {
	var b [8]byte
	if err := p.draw(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

// begin writes the record of a plan that is about to be carried out, or to be
// proposed, up to that status. If it fails, nothing but the record was written, and
// that is dropped when it is resumed.
func (p *Plans) begin(ctx context.Context, w *writer, c content, old []string, status Status) (*record, error) {
	parts, err := split(c)
	if err != nil {
		return nil, err
	}
	r := &record{content: c}
	r.head = head{Plan: c.Plan.ID, Kind: c.Plan.Kind, Status: Writing, Machine: p.machine(), Began: p.now(), layout: laid(1, parts), Old: old}
	if r.Ops, err = opsHash(c.Operations); err != nil {
		return nil, err
	}
	if r.Nonce, err = p.nonce(); err != nil {
		return nil, err
	}
	if err := p.claim(ctx, w, r); err != nil {
		return nil, err
	}
	return r, p.fill(ctx, w, r, parts, status)
}

func laid(from int, parts []string) layout {
	l := layout{From: from}
	for _, text := range parts {
		l.Parts = append(l.Parts, client.Hash(text))
	}
	return l
}

// claim writes the head where no record is: of several who do so at once, one has
// it, and the others take the next number.
func (p *Plans) claim(ctx context.Context, w *writer, r *record) error {
	text, err := headText(r.head)
	if err != nil {
		return err
	}
	for n := 1; n <= maxSuffix; n++ {
		r.id = numbered(r.head.Plan, n)
		now, err := w.get(ctx, headSlug(r.id))
		if errors.Is(err, client.ErrUnreadable) || now.ok {
			continue
		}
		if err != nil {
			return err
		}
		if err := p.note(ctx, r, ""); err != nil {
			return err
		}
		err = w.put(ctx, headSlug(r.id), &text, client.SetOptions{Base: client.BaseNone})
		if err == nil {
			r.text = text
			return nil
		}
		now, readErr := w.get(ctx, headSlug(r.id))
		if readErr != nil {
			return &OpenError{ID: r.id, Err: err} // it may be there
		}
		if err := p.close(ctx, openPrefix+r.id); err != nil {
			return err
		}
		if !now.ok {
			return err
		}
	}
	return fmt.Errorf("%w: %s has %d records", ErrStatus, r.head.Plan, maxSuffix)
}

// numbered is the id of a plan's nth record.
func numbered(plan string, n int) string {
	if n == 1 {
		return plan
	}
	return fmt.Sprintf("%s-%d", plan, n)
}

// fill writes the parts of a claimed record, and then says so.
func (p *Plans) fill(ctx context.Context, w *writer, r *record, parts []string, status Status) error {
	for i, text := range parts {
		if err := w.put(ctx, partSlug(r.id, r.From+i), &text, client.SetOptions{OverUnreadable: true}); err != nil {
			return p.drop(ctx, w, r, err)
		}
	}
	next := r.head
	next.Status = status
	if err := p.turn(ctx, w, r, next); err != nil {
		return &OpenError{ID: r.id, Err: err}
	}
	return nil
}

// turn writes the next head of a record in place of the one that is known. The error
// is an ErrConflict if another one is there.
func (p *Plans) turn(ctx context.Context, w *writer, r *record, next head) error {
	text, err := headText(next)
	if err != nil {
		return err
	}
	if err := w.put(ctx, headSlug(r.id), &text, client.SetOptions{Base: client.Hash(r.text)}); err != nil {
		return err
	}
	r.head, r.text = next, text
	return nil
}

// drop closes a record of which nothing was carried out, because of an error. A
// proposal that was being accepted is what it was.
func (p *Plans) drop(ctx context.Context, w *writer, r *record, cause error) error {
	if err := p.dropped(ctx, w, r); err != nil {
		return &OpenError{ID: r.id, Err: errors.Join(cause, err)}
	}
	return cause
}

func (p *Plans) dropped(ctx context.Context, w *writer, r *record) error {
	next, now := r.head, p.now()
	if next.Before != nil {
		next.Status, next.layout, next.Ops, next.Old, next.Before = Proposed, next.Before.layout, next.Before.Ops, next.Before.Old, nil
	} else {
		next.Status, next.Closed = Dropped, &now
	}
	if err := p.turn(ctx, w, r, next); err != nil {
		return err
	}
	return p.close(ctx, openPrefix+r.id)
}
