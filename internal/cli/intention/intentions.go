// Package intention lists what an agent means to do, and adds to it: engramctl intend and engramctl intentions.
package intention

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/view"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/intentions/acts"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/platform/timeparse"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// intentionsOut is `intentions --json`.
type intentionsOut struct {
	view.ViewOut
	Intentions []listedOut `json:"intentions"`
}

type listedOut struct {
	Slug    string   `json:"slug"`
	Title   string   `json:"title"`
	Trust   string   `json:"trust"`
	State   string   `json:"state"`
	Open    bool     `json:"open"`            // now, without regard to its trigger
	Count   int64    `json:"count,omitempty"` // how many occurrences are open
	Due     string   `json:"due,omitempty"`
	Next    string   `json:"next,omitempty"` // when the next occurrence begins
	Every   string   `json:"every,omitempty"`
	Until   string   `json:"until,omitempty"`
	Snoozed string   `json:"snoozed,omitempty"`
	Trigger string   `json:"trigger,omitempty"`
	Where   string   `json:"where,omitempty"`
	Action  string   `json:"action,omitempty"`
	Closed  string   `json:"closed,omitempty"` // what was last done, when and by whom
	Faults  []string `json:"faults,omitempty"` // fields that cannot be read
}

// New returns engramctl intentions.
func New(env *cliutil.Env) *cobra.Command {
	var all bool
	var wait time.Duration
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "intentions [--all] [--json]",
		Short: "List what is intended, and close it: done, snooze, cancel",
		Long: `List what is intended, what is due first: open ones, those to come, and those that wait
for words in a prompt. --all lists also what is done, cancelled or archived. What is
somebody else's words is listed, quoted, and shown nowhere else.

The subcommands close an intention: see their help.`,
		Example: `  engramctl intentions
  engramctl intentions --all --json | jq -r '.intentions[] | select(.open) | .slug'
  engramctl intentions done mem/intentions/water-the-beds-3f2a`,
	}, func(ctx context.Context, _ []string) error {
		now := time.Now()
		return view.WithView(ctx, env, wait, func(v answer.View) (view.Seen, error) {
			found := intentions.All(v, all)
			return view.Seen{Found: len(found), Print: func(out view.ViewOut) error { return printIntentions(env, found, now, out) }}, nil
		})
	}))
	c.Flags().BoolVar(&all, "all", false, "also those that are closed")
	view.WaitFlag(c, &wait)
	c.AddCommand(doneCommand(env), snoozeCommand(env), cancelCommand(env))
	return c
}

func printIntentions(env *cliutil.Env, found []intentions.Intention, now time.Time, out view.ViewOut) error {
	if len(found) == 0 {
		env.Note("nothing is intended")
	}
	all := intentionsOut{ViewOut: out, Intentions: []listedOut{}}
	var text strings.Builder
	for _, i := range found {
		l := listedFor(i, now)
		all.Intentions = append(all.Intentions, l)
		text.WriteString(l.line(i))
	}
	if env.Flags.JSON {
		return env.PrintJSON(all)
	}
	return env.PrintText(text.String())
}

func listedFor(i intentions.Intention, now time.Time) listedOut {
	l := listedOut{Slug: i.Slug, Title: i.Title, Trust: i.Trust.String(), State: string(i.State), Due: agentview.When(i.Due), Every: i.Every.String(), Until: agentview.When(i.Until),
		Snoozed: agentview.When(i.Snoozed), Trigger: i.Trigger, Where: i.Where, Action: i.Action, Closed: i.Closed, Faults: i.Faults}
	if o, ok := i.Open(now); ok {
		l.Open, l.Count = true, o.Count
	}
	if next, ok := i.Next(now); ok {
		l.Next = agentview.When(next)
	}
	return l
}

// line is what a person reads of it: what is somebody else's is quoted.
func (l listedOut) line(i intentions.Intention) string {
	says := func(s string) string {
		if s = frontmatter.OneLine(s); i.Trust == frontmatter.External {
			return fmt.Sprintf("%q", s)
		}
		return s
	}
	about := []string{l.when()}
	if l.Every != "" {
		about = append(about, "every "+l.Every)
	}
	if l.Until != "" {
		about = append(about, "until "+l.Until)
	}
	if l.Trigger != "" {
		about = append(about, fmt.Sprintf("may apply: %q", l.Trigger))
	}
	if l.Where != "" {
		about = append(about, "in "+says(l.Where))
	}
	if i.Trust == frontmatter.External {
		about = append(about, "external: somebody else's words")
	}
	for _, f := range l.Faults {
		about = append(about, "cannot be read: "+f)
	}
	text := fmt.Sprintf("%s  (%s)\n  %s\n", l.Slug, strings.Join(about, "; "), says(l.Title))
	if l.Action != "" {
		text += "  then: " + says(l.Action) + "\n"
	}
	return text
}

// when says how it stands.
func (l listedOut) when() string {
	switch {
	case l.State != string(frontmatter.Active) && l.Closed != "":
		return l.Closed
	case l.State != string(frontmatter.Active):
		return l.State
	case l.Open && l.Due == "":
		return "open"
	case l.Open && l.Count > 1:
		return fmt.Sprintf("open %d times since %s", l.Count, l.Due)
	case l.Open:
		return "open since " + l.Due
	case l.Snoozed != "" && (l.Next == "" || l.Next != l.Due):
		return "snoozed until " + l.Snoozed
	case l.Next != "":
		return "next " + l.Next
	}
	return "waiting"
}

func doneCommand(env *cliutil.Env) *cobra.Command {
	var occurrence string
	c := env.Command(&cobra.Command{
		Use:   "done SLUG [--occurrence TIME] [--json]",
		Short: "Say that an intention is done",
		Long: `Say that an intention is done: what is open of it, with all that was missed. One that
repeats is due again at its next time after now; any other has ended.

If nothing of it is open, nothing is written: somebody was faster (exit code 5, with who
and when), or it is not due yet. --occurrence names the due that is meant, as it was
shown: so it can be closed before it begins.`,
		Example: `  engramctl intentions done mem/intentions/water-the-beds-3f2a
  engramctl intentions done intentions/water-the-beds-3f2a --occurrence 2026-12-01T07:00:00+01:00`,
	}, func(ctx context.Context, args []string) error {
		now := time.Now()
		var at time.Time
		if occurrence != "" {
			var err error
			if at, err = timeparse.Parse(occurrence, timeparse.Begin, now); err != nil {
				return exit.Usagef("--occurrence: %w", err)
			}
		}
		return closing(ctx, env, args[0], func(ctx context.Context, m *session.Memory, slug nipae.Slug) (acts.Written, error) {
			return acts.Done(ctx, m.Writer(ctx), slug, at, now)
		})
	})
	c.Flags().StringVar(&occurrence, "occurrence", "", "the due that is meant: a `TIME`")
	return c
}

func snoozeCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "snooze SLUG TIME [--json]",
		Short: "Hide what is open of an intention until a time",
		Long: `Hide what is open of an intention until a time: 'tomorrow 9:00', 'in 2 hours', 2026-12-01.
Its due stays as it is.`,
		Example: `  engramctl intentions snooze intentions/water-the-beds-3f2a 'in 2 hours'`,
	}, func(ctx context.Context, args []string) error {
		now := time.Now()
		until, err := timeparse.Parse(args[1], timeparse.Begin, now)
		if err != nil {
			return exit.BadUsage(err)
		}
		return closing(ctx, env, args[0], func(ctx context.Context, m *session.Memory, slug nipae.Slug) (acts.Written, error) {
			return acts.Snooze(ctx, m.Writer(ctx), slug, until, now)
		})
	})
}

func cancelCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:     "cancel SLUG [--json]",
		Short:   "End an intention that is not to be done",
		Long:    `End an intention that is not to be done, with all that it would repeat. Its text stays.`,
		Example: `  engramctl intentions cancel intentions/water-the-beds-3f2a`,
	}, func(ctx context.Context, args []string) error {
		now := time.Now()
		return closing(ctx, env, args[0], func(ctx context.Context, m *session.Memory, slug nipae.Slug) (acts.Written, error) {
			return acts.Cancel(ctx, m.Writer(ctx), slug, now)
		})
	})
}

func closing(ctx context.Context, env *cliutil.Env, arg string, do func(context.Context, *session.Memory, nipae.Slug) (acts.Written, error)) error {
	slug, err := cliutil.OwnSlug(arg)
	if err != nil {
		return err
	}
	return actOn(ctx, env, slug, func(ctx context.Context, m *session.Memory) (acts.Written, error) { return do(ctx, m, slug) })
}

// unclosed says what an intention that cannot be closed like that is: closed before,
// which is a conflict, or a mistake.
func unclosed(slug nipae.Slug, err error) error {
	switch {
	case errors.Is(err, intentions.ErrClosed):
		return fmt.Errorf("%s: %w", slug, err)
	case errors.Is(err, intentions.ErrNotOpen), errors.Is(err, intentions.ErrWhen), errors.Is(err, acts.ErrNotIntention):
		return exit.Usagef("%s: %w", slug, err)
	}
	return err
}
