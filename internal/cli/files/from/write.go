package from

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/foreign"
)

// perSecond is how many memories are dated in one second at most: of a second
// with more than a relay has in a page the rest could not be listed again.
const perSecond = 12 * memory.MaxAdded

// importing is one run of import --from.
type importing struct {
	*cliutil.Env
	m      *session.Memory
	steps  []foreign.Step
	left   []foreign.Left
	status client.Status // of the listing, then of the last write that not all relays took
	update bool
	out    importedOut
	wrote  map[int]bool // by step
	hidden map[int]bool // steps with a secret, whose words may be in the slug
	failed error        // why relays did not take the first of those that they refused
}

// importedOut is what import --from prints as JSON.
type importedOut struct {
	cliutil.AnswerOut
	Source string         `json:"source"`
	Trust  string         `json:"trust"` // external, or observed
	DryRun bool           `json:"dry_run"`
	Wrote  int            `json:"wrote"`
	Counts map[string]int `json:"counts"`
	Items  []importedItem `json:"items"`
	Left   []foreign.Left `json:"left"`
}

// importedItem is one thing that was found.
type importedItem struct {
	Slug  string       `json:"slug"` // "" if a secret may be in it
	What  foreign.What `json:"what"`
	Size  int          `json:"size"`
	From  string       `json:"from"`
	Of    string       `json:"of,omitempty"`
	Why   string       `json:"why,omitempty"`
	Wrote bool         `json:"wrote"`
}

// write writes what is new, many at a time, and then what has changed, one by
// one. What fails is noted, and the rest goes on, unless no relay answers. Who
// is interrupted runs it again: what is there is not written twice.
func (in *importing) write(ctx context.Context) error {
	in.wrote = map[int]bool{}
	var news, changes []int
	for i, s := range in.steps {
		switch {
		case s.What == foreign.New:
			news = append(news, i)
		case s.What == foreign.Changed && in.update:
			changes = append(changes, i)
		}
	}
	defer in.bar(ctx, len(news)+len(changes))()
	pace := NewPace()
	for len(news) > 0 {
		batch := news[:min(memory.MaxAdded, len(news))]
		news = news[len(batch):]
		if err := in.add(ctx, batch); err != nil {
			return err
		}
		if err := pace.Wrote(ctx, len(batch)); err != nil {
			return err
		}
	}
	for _, i := range changes {
		s := in.steps[i]
		_, status, err := in.m.Set(ctx, s.Slug, s.Text, memory.SetOptions{Base: client.Hash(s.Base), Whole: true})
		if err := in.settle(ctx, i, status, err); err != nil {
			return err
		}
	}
	return nil
}

// bar shows how far it is on a terminal.
func (in *importing) bar(ctx context.Context, of int) func() {
	if !in.Terminal.Stderr || in.Flags.Verbose || of == 0 {
		return func() {}
	}
	in.Progress.Reach(0, of)
	in.HideBar = in.Progress.Show(ctx, in.Stderr, in.Flags.Timeout+time.Duration(of/perSecond)*time.Second)
	return func() { in.Err() }
}

// Pace waits for the next second when one is full.
type Pace struct {
	now      func() time.Time
	wait     func(context.Context, time.Duration) error
	second   int64
	inSecond int
}

// NewPace is one that nothing was written at.
func NewPace() *Pace { return &Pace{now: time.Now, wait: pause} }

// Wrote counts n memories, and waits if the second is full with them.
func (p *Pace) Wrote(ctx context.Context, n int) error {
	now := p.now()
	if now.Unix() != p.second {
		p.second, p.inSecond = now.Unix(), 0
	}
	if p.inSecond += n; p.inSecond < perSecond {
		return nil
	}
	return p.wait(ctx, time.Unix(p.second+1, 0).Sub(now))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// add writes a batch where nothing is.
func (in *importing) add(ctx context.Context, batch []int) error {
	texts := make([]memory.NewText, len(batch))
	for i, at := range batch {
		texts[i] = memory.NewText{Slug: in.steps[at].Slug, Text: in.steps[at].Text}
	}
	all, err := in.m.Add(ctx, texts)
	if err != nil {
		return fmt.Errorf("after %s: %w; the same command goes on where it stopped", cliutil.Counted(len(in.wrote), "memory", "memories"), err)
	}
	for i, added := range all {
		if err := in.settle(ctx, batch[i], added.Status, added.Err); err != nil {
			return err
		}
	}
	return nil
}

// settle notes what became of a write.
func (in *importing) settle(ctx context.Context, at int, status client.Status, err error) error {
	s := &in.steps[at]
	switch {
	case err == nil:
		in.wrote[at] = true
		in.Progress.Reach(len(in.wrote), in.Progress.Of())
		if status.Partial {
			in.status = status
		}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, client.ErrConflict):
		s.What, s.Why = foreign.Conflict, "something was written there meanwhile"
	default:
		s.What, s.Why = foreign.Refused, err.Error()
		if in.failed == nil {
			in.failed = err
		}
	}
	return nil
}
