package plans

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
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

// job is a record that this process is at.
type job struct {
	p *Plans
	w *writer
	r *record
}

// note has the state know that this machine is at a record, before the memory does.
func (k *job) note(ctx context.Context, had string) error {
	data, err := json.Marshal(opened{Plan: k.r.head.Plan, Nonce: k.r.Nonce, Had: had})
	if err != nil {
		return fmt.Errorf("note the plan: %w", err)
	}
	return k.p.put(ctx, memorystate.Plan{ID: openPrefix + k.r.id, Data: data, Expires: k.p.now().Add(neverExpires)}, k.r.head.Plan)
}

func nonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// begin writes the record of a plan that is about to be carried out, or to be
// proposed, up to that status. If it fails, nothing but the record was written, and
// that is dropped when it is resumed.
func (k *job) begin(ctx context.Context, c content, old []string, status Status) error {
	parts, err := split(c)
	if err != nil {
		return err
	}
	k.r = &record{content: c}
	k.r.head = head{Plan: c.Plan.ID, Kind: c.Plan.Kind, Status: Writing, Machine: k.p.machine(), Began: k.p.now(), layout: laid(1, parts), Old: old}
	if k.r.Ops, err = opsHash(c.Operations); err != nil {
		return err
	}
	k.r.Nonce = nonce()
	if err := k.claim(ctx); err != nil {
		return err
	}
	return k.fill(ctx, parts, status)
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
func (k *job) claim(ctx context.Context) error {
	text, err := headText(k.r.head)
	if err != nil {
		return err
	}
	for n := 1; n <= maxSuffix; n++ {
		k.r.id = numbered(k.r.head.Plan, n)
		now, err := k.w.get(ctx, headSlug(k.r.id))
		if errors.Is(err, client.ErrUnreadable) || now.ok {
			continue
		}
		if err != nil {
			return err
		}
		if err := k.note(ctx, ""); err != nil {
			return err
		}
		err = k.w.put(ctx, headSlug(k.r.id), &text, clientmemory.SetOptions{Base: clientmemory.BaseNone})
		if err == nil {
			k.r.text = text
			return nil
		}
		now, readErr := k.w.get(ctx, headSlug(k.r.id))
		if readErr != nil {
			return &OpenError{ID: k.r.id, Err: err} // it may be there
		}
		if err := k.p.close(ctx, openPrefix+k.r.id); err != nil {
			return err
		}
		if !now.ok {
			return err
		}
	}
	return fmt.Errorf("%w: %s has %d records", ErrStatus, k.r.head.Plan, maxSuffix)
}

// numbered is the id of a plan's nth record.
func numbered(plan string, n int) string {
	if n == 1 {
		return plan
	}
	return fmt.Sprintf("%s-%d", plan, n)
}

// fill writes the parts of a claimed record, and then says so.
func (k *job) fill(ctx context.Context, parts []string, status Status) error {
	for i, text := range parts {
		if err := k.w.put(ctx, partSlug(k.r.id, k.r.From+i), &text, clientmemory.SetOptions{OverUnreadable: true}); err != nil {
			return k.drop(ctx, err)
		}
	}
	next := k.r.head
	next.Status = status
	if err := k.turn(ctx, next); err != nil {
		return &OpenError{ID: k.r.id, Err: err}
	}
	return nil
}

// turn writes the next head of a record in place of the one that is known. The error
// is an ErrConflict if another one is there.
func (k *job) turn(ctx context.Context, next head) error {
	text, err := headText(next)
	if err != nil {
		return err
	}
	if err := k.w.put(ctx, headSlug(k.r.id), &text, clientmemory.SetOptions{Base: client.Hash(k.r.text)}); err != nil {
		return err
	}
	k.r.head, k.r.text = next, text
	return nil
}

// drop closes a record of which nothing was carried out, because of an error. A
// proposal that was being accepted is what it was.
func (k *job) drop(ctx context.Context, cause error) error {
	if err := k.dropped(ctx); err != nil {
		return &OpenError{ID: k.r.id, Err: errors.Join(cause, err)}
	}
	return cause
}

func (k *job) dropped(ctx context.Context) error {
	next, now := k.r.head, k.p.now()
	if next.Before != nil {
		next.Status, next.layout, next.Ops, next.Old, next.Before = Proposed, next.Before.layout, next.Before.Ops, next.Before.Old, nil
	} else {
		next.Status, next.Closed = Dropped, &now
	}
	if err := k.turn(ctx, next); err != nil {
		return err
	}
	return k.p.close(ctx, openPrefix+k.r.id)
}
