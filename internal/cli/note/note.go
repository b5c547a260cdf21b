// Package note writes a note into the log of the agent: engramctl note.
package note

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mem/edit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
)

// noteFlags are what engramctl note is told beside the text.
type noteFlags struct {
	tags, links []string
	salience    *float64 // nil: not said
	emotion     map[string]string
	session     string
	trust       string
	expires     string
}

// New returns engramctl note.
func New(env *cliutil.Env) *cobra.Command {
	var o struct {
		f        noteFlags
		salience float64
		allow    bool
	}
	var c *cobra.Command
	c = cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "note TEXT|- [--tag TAG] [--link SLUG] [--salience N] [--emotion NAME=N] [--session ID] [--trust external] [--expires TIME] [--allow-secret] [--json]",
		Short: "Note what happened, without thinking of a slug",
		Long: `Note what happened: an episode, at a slug of its own in mem/journal that says when
(mem/journal/2026/11/22/0602-07004512-4f1c22ab: in UTC, with seconds and microseconds,
so that notes sort as they were written, and 8 random hex digits). With "-" the text
comes from stdin. Front matter says that it is episodic, when and by whom it
was written, and what the flags say (docs/memory.md). With --session, in a folder that
is linked to a project (engramctl project), it belongs to that.

It is answered once a relay has taken it; while none answers it is kept on this machine
(engramctl outbox). --expires is when it is gone (engramctl mem set --help). Each time
that eight more wait to be consolidated, as the local copy has them, stderr says so.
Prints slug, size and hash, as mem set does.

A text in which something looks like a key or a token is refused, unless
--allow-secret is given.`,
		Example: `  engramctl note "Ana prefers answers in Portuguese" --tag people --link people/ana
  engramctl note - --salience 0.8 --emotion satisfaction=0.6 < what-happened.txt`,
	}, func(ctx context.Context, args []string) error {
		if c.Flags().Changed("salience") {
			o.f.salience = &o.salience
		}
		n, err := noteOf(env, args[0], o.f)
		if err != nil {
			return err
		}
		return writeNote(ctx, env, n, cliutil.Guard(o.allow))
	}))
	fs := c.Flags()
	fs.StringArrayVar(&o.f.tags, "tag", nil, "a `tag`, may be given several times")
	fs.StringArrayVar(&o.f.links, "link", nil, "`slug` of a memory that it is about, may be given several times")
	fs.Float64Var(&o.salience, "salience", frontmatter.DefaultSalience, "how much it matters, a `NUMBER` from 0 to 1")
	fs.StringToStringVar(&o.f.emotion, "emotion", nil, "a feeling with its strength, 0 to 1: `joy=0.6`; also frustration, curiosity, anger, surprise, satisfaction, fear, calm")
	fs.StringVar(&o.f.session, "session", "", "`id` of the session that it belongs to")
	fs.StringVar(&o.f.trust, "trust", "", "`external` for somebody else's words")
	edit.ExpiresFlag(c, &o.f.expires)
	cliutil.SecretFlag(c, &o.allow)
	return c
}

// noteOf makes a note of the command line.
func noteOf(env *cliutil.Env, text string, f noteFlags) (n write.Note, err error) {
	if text == "-" {
		if text, err = cliutil.Input(env); err != nil {
			return n, err
		}
	}
	if strings.TrimSpace(text) == "" {
		return n, exit.BadUsage(client.ErrEmpty)
	}
	if err := cliutil.CheckText(text); err != nil {
		return n, err
	}
	if strings.ContainsFunc(f.session, func(r rune) bool { return r <= ' ' }) {
		return n, exit.Usagef("--session: an id has no blanks")
	}
	expires, err := memory.ParseExpiry(f.expires, time.Now())
	if err != nil {
		return n, err
	}
	n = write.Note{Later: true, Expires: expires.At, Text: text, Tags: f.tags, Session: f.session, Trust: f.trust, Salience: f.salience, Emotion: map[string]float64{}}
	for name, word := range f.emotion {
		felt, err := strconv.ParseFloat(word, 64)
		if err != nil || !slices.Contains(frontmatter.Emotions[:], name) {
			return n, exit.Usagef("--emotion %s=%s: want one of %s with a number from 0 to 1", name, word, strings.Join(frontmatter.Emotions[:], ", "))
		}
		n.Emotion[name] = felt
	}
	for _, arg := range f.links {
		slug, err := cliutil.SlugArgument(arg)
		if err != nil {
			return n, err
		}
		n.Links = append(n.Links, slug)
	}
	return n, nil
}

// writeNote writes one and says where it is.
func writeNote(ctx context.Context, env *cliutil.Env, n write.Note, check func(old, text string) error) error {
	return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
		r, err := m.WriterIn(ctx, n.Session).AddNote(ctx, m, n, check)
		if errors.Is(err, write.ErrField) {
			return exit.BadUsage(err)
		}
		if err := env.Report(r.Status, cliutil.About(r.Slug, r.Entry, err)); err != nil {
			return err
		}
		edit.NoteCopied(env, r.Slug, r.From)
		if n := m.Session().Copies.Waiting(ctx); n > 0 && n%consolidation.MicroBatch == 0 {
			env.Note("%d episodes wait to be consolidated: engramctl mind prepare", n)
		}
		return edit.Wrote(ctx, env, m, r.Entry, r.Status)
	})
}
