// Package view has what the commands share that look at the whole memory: the local copy, its filters, and model servers.
package view

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
)

// ViewOut stands in every JSON answer about the memory as a whole.
type ViewOut struct {
	cliutil.AnswerOut
	AsOf  string `json:"as_of,omitempty"` // when relays were last asked
	Stale bool   `json:"stale"`           // not every relay has confirmed lately what is here
}

// Seen is what a command makes of a view: how much it found, and how to print
// it.
type Seen struct {
	Found int
	Print func(out ViewOut) error
}

// WithView has a command look at the whole memory, as the local copy has it, and
// prints what it found. It waits that long for the relays; 0 is what suits a
// person.
func WithView(ctx context.Context, env *cliutil.Env, wait time.Duration, look func(answer.View) (Seen, error)) error {
	return WithPrepared(ctx, env, wait, func(context.Context, *session.Session) {}, look)
}

// WithPrepared is WithView with something to do before, which may wait: a look
// may not.
func WithPrepared(ctx context.Context, env *cliutil.Env, wait time.Duration, prepare func(context.Context, *session.Session), look func(answer.View) (Seen, error)) error {
	return WithWhole(ctx, env, wait, func(ctx context.Context, s *session.Session, l *session.Copy) (found Seen, state answer.State, err error) {
		prepare(ctx, s)
		state, err = l.Look(ctx, func(v answer.View) (err error) {
			found, err = look(v)
			return err
		})
		return found, state, err
	})
}

// WithWhole is WithView for a command that looks by itself.
func WithWhole(ctx context.Context, env *cliutil.Env, wait time.Duration, look func(context.Context, *session.Session, *session.Copy) (Seen, answer.State, error)) error {
	if wait < 0 {
		return exit.Usagef("--wait cannot be less than 0")
	}
	return cliutil.WithCopy(ctx, env, wait, func(ctx context.Context, s *session.Session, l *session.Copy) error {
		status, err := ReportCopy(ctx, env, l)
		if err != nil {
			return err
		}
		found, state, err := look(ctx, s, l)
		if err == nil && found.Found == 0 {
			err = unfound(ctx, s, l, state)
		}
		if err != nil {
			return mistaken(err)
		}
		return showSeen(env, found, state, cliutil.AnswerOf(s.Memory, status))
	})
}

// ReportCopy says which relays were not reached.
func ReportCopy(ctx context.Context, env *cliutil.Env, l *session.Copy) (client.Status, error) {
	state, err := l.State(ctx)
	if err != nil {
		return client.Status{}, err
	}
	status := l.Status(state)
	return status, env.Report(status, nil)
}

// mistaken makes a usage error of a query that makes no sense.
func mistaken(err error) error {
	if m := new(*answer.Mistake); errors.As(err, m) {
		return exit.BadUsage(err)
	}
	return err
}

// unfound returns why nothing was found, where that is not because there is nothing.
func unfound(ctx context.Context, s *session.Session, l *session.Copy, state answer.State) error {
	nothing := false
	switch {
	case state.Partial(0):
		return fmt.Errorf("%w, and what is here has nothing that fits", client.ErrPartial)
	case state.Withheld > 0:
		return fmt.Errorf("%w of %s, and what is here has nothing that fits", client.ErrBehind, cliutil.Counted(state.Withheld, "memory", "memories"))
	}
	_, err := l.Look(ctx, func(v answer.View) error {
		n, _ := v.Index().Len()
		nothing = n == 0
		return nil
	})
	if err == nil && nothing {
		_, _, err = s.Memory.CoreAbsent(ctx)
	}
	if errors.Is(err, client.ErrBehind) {
		return err
	}
	return nil
}

// showSeen prints what a command found.
func showSeen(env *cliutil.Env, s Seen, state answer.State, about cliutil.AnswerOut) error {
	if state.Unreadable > 0 {
		env.Note("%s cannot be read; the slugs are unknown", cliutil.Counted(state.Unreadable, "memory", "memories"))
	}
	out := ViewOut{AnswerOut: about, Stale: state.Stale || state.Unfinished, AsOf: view.When(state.AsOf.UTC())}
	out.Partial = out.Partial || state.Partial(s.Found)
	return s.Print(out)
}

// WaitFlag is --wait.
func WaitFlag(c *cobra.Command, to *time.Duration) {
	c.Flags().DurationVar(to, "wait", 0, "how `long` to wait for relays before the local copy is believed; 0: 2s, and for a first copy all of --timeout")
}

// FilterFlags are the flags that say which memories may be found.
func FilterFlags(c *cobra.Command, q *answer.Query) {
	f := c.Flags()
	f.StringSliceVar(&q.Types, "type", nil, "only memories of a `TYPE`: episodic, semantic, procedural, insight, prospective, narrative")
	f.StringSliceVar(&q.Tags, "tag", nil, "only those with the `TAG`, with all if given again")
	f.StringSliceVar(&q.States, "state", nil, "those in a `STATE`: active (default), archived, superseded, done, all")
	f.StringVar(&q.Since, "since", "", "only those of a `time` or later: 2026-11-20, last week, 3 days ago")
	f.StringVar(&q.Until, "until", "", "only those until the end of a `time`")
	f.StringVar(&q.MinTrust, "min-trust", "", "only those of at least that `TRUST`: external, derived, observed, told")
	f.StringVar(&q.Prefix, "prefix", "", "only slugs that begin with `PREFIX`")
}

// Emotions reads --emotion.
func Emotions(given map[string]string) (map[string]float64, error) {
	all := map[string]float64{}
	for name, text := range given {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, exit.Usagef("--emotion: %q is no number", text)
		}
		all[name] = share
	}
	return all, nil
}

// Question reads a query from a command line.
func Question(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("QUERY is missing")
	}
	return nil
}

// FoundOut is a memory that was found, in JSON.
type FoundOut struct {
	Slug         string   `json:"slug"`
	Title        string   `json:"title"`
	Type         string   `json:"type"`
	Project      string   `json:"project,omitempty"` // another one, whose it is
	Trust        string   `json:"trust"`
	State        string   `json:"state"`
	When         string   `json:"when,omitempty"`
	Time         string   `json:"time"` // it was written
	Fit          string   `json:"fit,omitempty"`
	Size         int      `json:"size"`
	Why          []string `json:"why"`
	Words        []string `json:"words,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`
	Partly       []string `json:"partly_superseded_by,omitempty"`
	Contradicts  []string `json:"contradicts,omitempty"`
	Unsent       bool     `json:"not_sent_yet,omitempty"` // it waits on this machine
}

// FoundOf returns a hit as JSON shows it.
func FoundOf(h answer.Hit) FoundOut {
	out := FoundOut{Slug: h.Slug, Title: h.Title, Type: string(h.Type), Project: h.Project, Trust: h.Trust.String(), State: string(h.State), Time: cliutil.Stamp(h.UpdatedAt), Size: h.Size,
		Why: h.Why, Words: h.Words, SupersededBy: h.SupersededBy, Partly: h.PartlySupersededBy, Contradicts: h.Contradicts, Unsent: h.Head.Unsent, When: view.When(h.When)}
	if h.Fit != recall.None {
		out.Fit = h.Fit.String()
	}
	return out
}

// AllProjectsFlag is --all-projects.
func AllProjectsFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "all-projects", false, "the memory of other projects too")
}

// NoteOthers says how many memories were left out because of the project they are of.
func NoteOthers(env *cliutil.Env, n int) {
	if n > 0 {
		env.Note("%d in other projects (--all-projects)", n)
	}
}
