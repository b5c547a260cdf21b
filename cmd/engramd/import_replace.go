package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/snapshot/bundle"
	"engramd/internal/snapshot/operator"
	"engramd/internal/store"
)

// replacer carries out `import --replace`: nothing is changed before the input was
// read to its end and verified.
type replacer struct {
	importer  *importer
	snapshots *operator.Service
	dir       string // where the verified events lie meanwhile
}

// replacing is told what a replacement does.
type replacing interface {
	progress
	agent(a replacedAgent) error
}

// replacedAgent is what became of one agent's heads.
type replacedAgent struct {
	operator.Restored
	HeldBack string `json:"held_back,omitempty"` // why nothing of it was switched
}

// run reads the input, replaces the heads of the agents whose engrams are in it, one
// agent after the other, and then imports the rest. Its tally is of what was done,
// also beside an error.
func (r *replacer) run(ctx context.Context, in io.Reader, p replacing) (t tally, err error) {
	if err := r.snapshots.MayReplace(); err != nil {
		return t, err
	}
	file, err := os.CreateTemp(r.dir, "import-*.tmp")
	if err != nil {
		return t, err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil { // it goes with the process, however that ends
		return t, err
	}
	x := &replacement{file: file, authors: map[string]*replaced{}}
	if err := r.read(ctx, in, x, &t, p); err != nil {
		return t, fmt.Errorf("nothing was changed: %w", err)
	}
	for _, a := range x.order {
		if !a.engrams {
			x.rest = append(x.rest, a.lines...)
			continue
		}
		done := replacedAgent{Restored: operator.Restored{Agent: a.pub, Mode: operator.Replace}, HeldBack: cmp.Or(x.held, a.held)}
		if done.HeldBack == "" {
			if done.Restored, err = r.replace(ctx, x, a); err != nil {
				return t, fmt.Errorf("agent %s: %w", a.pub, err)
			}
		}
		t.add(done, int64(len(a.lines)))
		if err := p.agent(done); err != nil {
			return t, err
		}
	}
	rest, err := r.importRest(ctx, x, p)
	t.sum(rest)
	return t, err
}

// read verifies the input and notes what is in it.
func (r *replacer) read(ctx context.Context, in io.Reader, x *replacement, t *tally, p progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.out = bufio.NewWriter(x.file)
	for b := range r.importer.parsed(ctx, cancel, in) {
		<-b.done
		if ctx.Err() != nil {
			break
		}
		for _, it := range b.items {
			if it.event == nil {
				t.Lines++
				t.Skipped++
				x.refuse(it)
				if err := p.skip(skipped{it.line, it.refusal}); err != nil {
					return err
				}
			} else if err := x.take(it); err != nil {
				return err
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return x.out.Flush()
}

// replace switches one agent's heads.
func (r *replacer) replace(ctx context.Context, x *replacement, a *replaced) (operator.Restored, error) {
	return r.snapshots.Replace(ctx, operator.ReplaceRequest{
		Tenant: bundle.DefaultTenant, Agent: a.pub, AsOf: time.Unix(a.newest, 0),
		Events: func(add func(store.Part, *nostr.Event) error) error {
			for _, l := range a.lines {
				ev, err := x.event(l)
				if err == nil {
					err = add(a.part(ev), ev)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// importRest imports what belongs to no replaced memory, in the order of the lines.
func (r *replacer) importRest(ctx context.Context, x *replacement, p progress) (tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slices.SortFunc(x.rest, func(a, b verifiedLine) int { return cmp.Compare(a.line, b.line) })
	ordered := make(chan *batch)
	go func() {
		defer close(ordered)
		for part := range slices.Chunk(x.rest, batchLines) {
			b := &batch{done: make(chan struct{})}
			close(b.done)
			for _, l := range part {
				ev, err := x.event(l)
				if err != nil {
					cancel(err)
					return
				}
				b.items = append(b.items, item{line: int64(l.line), event: ev})
			}
			select {
			case ordered <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	return r.importer.put(ctx, cancel, ordered, p)
}

// add counts an agent with so many lines.
func (t *tally) add(a replacedAgent, lines int64) {
	t.Lines += lines
	if a.HeldBack != "" {
		t.Held += lines
		return
	}
	t.Stored += a.Stored
	t.Replaced += a.Replaced
	t.Older += a.Kept
	t.Deleted += a.Deleted
	t.Skipped += a.Expired
	// A line that is in the file twice counts as there already, too.
	t.Known += lines - a.Stored - a.Replaced - a.Kept - a.Deleted - a.Expired
}

func (t *tally) sum(o tally) {
	t.Lines += o.Lines
	t.Stored += o.Stored
	t.Replaced += o.Replaced
	t.Known += o.Known
	t.Older += o.Older
	t.Deleted += o.Deleted
	t.Skipped += o.Skipped
}
