package intention

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mem/edit"
	"engramd/internal/memory/intentions/acts"
	"engramd/nips/nipae"
)

// intentionOut is what a write of an intention prints as JSON.
type intentionOut struct {
	edit.WroteOut
	State string `json:"state"`          // active or done
	Next  string `json:"next,omitempty"` // when it is open next
}

// NewIntend returns engramctl intend.
func NewIntend(env *cliutil.Env) *cobra.Command {
	var o struct {
		d     acts.Draft
		slug  string
		allow bool
	}
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "intend TEXT|- [--due TIME] [--every PERIOD] [--until TIME] [--trigger WORDS] [--where project|NAME] [--action TEXT] [--slug SLUG] [--tag TAG] [--trust external] [--allow-secret] [--json]",
		Short: "Intend to do something, at a time or when something comes up",
		Long: `Intend to do something later. It is shown in sessions of the agent (hooks, engramctl
wake and recall, memory_recall) once in each, until engramctl intentions done, snooze
or cancel says otherwise: at and after --due, again and again with --every, when a prompt
or query has most of the words of --trigger, and without --due and --trigger at once.
What it says to do is text for the agent: nothing is run.

A time is like 2026-12-01T09:00:00+01:00, 2026-12-01 (its first moment), 'tomorrow 9:00'
or 'in 2 hours'; its zone's offset is kept, also where summer has another one. A period is
an ISO 8601 duration: P1D, P1W, P1M, P1Y, PT4H, or several parts of one. After January 31
a month later is February 28, and then March 31. After --until nothing begins.

--where project binds it to the project of this folder (engramctl project): it comes up
only in folders that are known to be that project's.

The slug is mem/intentions/WORDS-XXXX of the text, unless --slug names one. Prints
slug, size and hash, as mem set does. docs/mind.md says more.`,
		Example: `  engramctl intend "Water the beds" --due 'tomorrow 7:00' --every P2D
  engramctl intend "Ask Ana for the notes" --trigger "when a release of Atlas is planned"
  engramctl intend "Clean up the fixtures" --where project`,
	}, func(ctx context.Context, args []string) (err error) {
		if o.d.Text, err = edit.Value(env, args[0], true); err != nil {
			return err
		}
		if o.slug != "" {
			if o.d.Slug, err = cliutil.OwnSlug(o.slug); err != nil {
				return err
			}
		}
		now := time.Now()
		return actOn(ctx, env, o.d.Slug, func(ctx context.Context, m *session.Memory) (acts.Written, error) {
			if o.d.Where == "project" {
				if o.d.Where = m.Session().Place.At(ctx).Project; o.d.Where == "" {
					return acts.Written{}, exit.Usagef("--where project: this folder is of none")
				}
			}
			return acts.Make(ctx, m.Writer(ctx), o.d, now, cliutil.Guard(o.allow))
		})
	}))
	f := c.Flags()
	f.StringVar(&o.d.Due, "due", "", "`TIME` from which on it is due")
	f.StringVar(&o.d.Every, "every", "", "again each `PERIOD` after due: P1D, P1W, P1M, P1Y, PT4H")
	f.StringVar(&o.d.Until, "until", "", "`TIME` after which nothing of it begins")
	f.StringVar(&o.d.Trigger, "trigger", "", "`WORDS` that say when it may apply, compared with prompts")
	f.StringVar(&o.d.Where, "where", "", "only in one project: \"project\" for that of this folder, or its `NAME`")
	f.StringVar(&o.d.Action, "action", "", "`TEXT` that says what to do then")
	f.StringVar(&o.slug, "slug", "", "`SLUG` of it, at which nothing may be yet")
	f.StringArrayVar(&o.d.Tags, "tag", nil, "a `tag`, may be given several times")
	f.StringVar(&o.d.Trust, "trust", "", "`external` for somebody else's words: it is never shown unasked")
	cliutil.SecretFlag(c, &o.allow)
	return c
}

// actOn writes an intention and says what came of it.
func actOn(ctx context.Context, env *cliutil.Env, slug nipae.Slug, do func(context.Context, *session.Memory) (acts.Written, error)) error {
	return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
		w, err := do(ctx, m)
		slug := cmp.Or(w.Slug, slug)
		if err := env.Report(w.Status, cliutil.About(slug, w.Entry, cliutil.Explained(cliutil.Understood(unclosed(slug, err))))); err != nil {
			return err
		}
		edit.NoteCopied(env, slug, w.From)
		next := view.When(w.Next)
		if env.Flags.JSON {
			return env.PrintJSON(intentionOut{edit.WroteOut{AnswerOut: cliutil.AnswerOf(m, w.Status), EntryOut: cliutil.EntryFor(w.Entry)}, string(w.Intention.State), next})
		}
		line := ""
		if next != "" {
			line = "  next " + next
		}
		return env.Print("%s  %d B  hash %s  %s%s\n", w.Slug, w.Size, w.Hash, w.Intention.State, line)
	})
}
