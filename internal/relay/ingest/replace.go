package ingest

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

	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store"
	"engramd/internal/snapshot/bundle"
)

// Replacer executes `import --replace`. It changes nothing before it has read
// the input to its end and verified it.
type Replacer struct {
	Importer  *Importer
	Snapshots *snapshots.Service // switches an agent's heads, and keeps the state before the switch
	Dir       string             // the folder for the file of verified events
}

// Replacing is notified of a replacement's progress.
type Replacing interface {
	Progress
	Agent(a ReplacedAgent) error
}

// ReplacedAgent is the outcome for one agent's heads.
type ReplacedAgent struct {
	snapshots.Restored
	HeldBack string `json:"held_back,omitempty"` // why its heads were not switched
}

// Run reads the input, replaces the heads of the agents whose engrams are in
// it, one agent after the other, and then imports the rest. The tally counts
// what was done, also if there is an error.
func (r *Replacer) Run(ctx context.Context, in io.Reader, p Replacing) (t Tally, err error) {
	if err := r.Snapshots.MayReplace(); err != nil {
		return t, err
	}
	file, err := os.CreateTemp(r.Dir, "import-*.tmp")
	if err != nil {
		return t, err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil { // the file vanishes with the process, however that ends
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
		done := ReplacedAgent{Restored: snapshots.Restored{Agent: a.pub, Mode: snapshots.Replace}, HeldBack: cmp.Or(x.held, a.held)}
		if done.HeldBack == "" {
			if done.Restored, err = r.replace(ctx, x, a); err != nil {
				return t, fmt.Errorf("agent %s: %w", a.pub, err)
			}
		}
		t.add(done, int64(len(a.lines)))
		if err := p.Agent(done); err != nil {
			return t, err
		}
	}
	rest, err := r.importRest(ctx, x, p)
	t.sum(rest)
	return t, err
}

// read verifies the input and indexes it.
func (r *Replacer) read(ctx context.Context, in io.Reader, x *replacement, t *Tally, p Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.out = bufio.NewWriter(x.file)
	for b := range r.Importer.parsed(ctx, cancel, in) {
		<-b.done
		if ctx.Err() != nil {
			break
		}
		for _, it := range b.items {
			if it.event == nil {
				t.Lines++
				t.Skipped++
				x.refuse(it)
				if err := p.Skip(Skipped{it.line, it.refusal}); err != nil {
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
func (r *Replacer) replace(ctx context.Context, x *replacement, a *replaced) (snapshots.Restored, error) {
	return r.Snapshots.Replace(ctx, snapshots.ReplaceRequest{
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

// importRest imports the lines that belong to no replaced memory, in their
// order.
func (r *Replacer) importRest(ctx context.Context, x *replacement, p Progress) (Tally, error) {
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
	return r.Importer.put(ctx, cancel, ordered, p)
}
