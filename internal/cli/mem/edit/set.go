// Package edit writes and changes memories: engramctl mem set, edit, patch, mv, link and more.
package edit

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// WroteOut is what a write prints as JSON.
type WroteOut struct {
	cliutil.AnswerOut
	cliutil.EntryOut
}

// Commands returns the commands of engramctl mem that change one.
func Commands(env *cliutil.Env) []*cobra.Command {
	all := []*cobra.Command{setCommand(env), appendCommand(env), patchCommand(env), editCommand(env), mvCommand(env), linkCommand(env), restoreCommand(env)}
	for _, m := range marks {
		all = append(all, markCommand(env, m))
	}
	return all
}

// setOptions are the flags of mem set.
type setOptions struct {
	set   memory.SetOptions
	f     fieldFlags
	allow bool
}

func setCommand(env *cliutil.Env) *cobra.Command {
	var o setOptions
	var c *cobra.Command
	c = env.Command(&cobra.Command{
		Use:   "set SLUG [VALUE|-] [--base HASH] [--type TYPE] [--description LINE] [--tag TAG]… [--salience N] [--supersedes SLUG]… [--trust external] [--expires TIME] [--allow-empty] [--allow-secret] [--json]",
		Short: "Write a memory",
		Long: `Write a memory, sent to every relay and read back; while none answers it is kept on this
machine (engramctl outbox). With "-" the text comes from
stdin, byte for byte: use it for what is long or must not show in a list of
processes. An empty text is refused unless --allow-empty says that it is meant.

--base is the hash (mem hash) of the text that the new one was made from, or "none"
if there was none: if the memory is another one by now, nothing is written and the
exit code is 5. Of several writers with one base exactly one wins: the first of the
configured relays (by URL) that can decide does, or the profile's decider; all must
configure the same ones. Where no relay can, --base is best effort, and stderr says
so. Without it, whatever is there is superseded; mem log and mem restore bring it
back.

Without one of the flags below the text is written as it is, byte for byte. Front matter
in it (docs/memory.md) may not claim another created, source, session or consolidated
than the memory has, or more trust: nothing is written, and the key is named. So is
the external memory whose words a text has without saying so, if this machine has a
copy of it.

--type, --description, --tag, --salience, --supersedes, --trust and --expires set fields. Then a
VALUE without front matter keeps the fields that the memory has besides, without a VALUE
only fields change, and created, source and trust are stamped: trust is kept or lowered.
--supersedes also marks the memory that it names as superseded. The core has no fields.

--expires is when relays drop the memory with its history, and this machine its copy: a
time, a date, or from now such as 30d or 12h, within ten years. Later versions keep it; a
later time is another --expires. Where something is at SLUG that does not expire by then,
nothing is written, and the versions that would go are named: "30d with ID" lets them go.
Core, the narrative and what programs keep never expire. What a text says of itself by
that name is renamed to expires_claimed.

Who writes one memory faster than once a second waits for the clock, 30 seconds at
most; then nothing is written and the exit code is 5 ("conflict: busy").

A text in which something looks like a key or a token is refused, with its kind and
line: what is remembered is signed and cannot be redacted later. --allow-secret
writes it all the same.

Prints slug, size and the hash of the new text, for --base. (Versions, for --at, are
named by the ids that mem log shows.)

A text may begin with "-", as a list does; one that looks like a flag goes behind
"--": mem set notes -- --help.`,
		Example: `  engramctl mem set notes "buy milk"
  engramctl mem set shopping "- milk"
  engramctl mem set core - < profile.txt
  engramctl mem set projects/atlas "SQLite, for now" --tag atlas --description "Storage of Atlas"
  engramctl mem set guest-wifi "the word is on the fridge" --expires 3d
  engramctl mem set notes - --base "$(engramctl mem hash notes)" < notes.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && o.f.changed(c) {
				return nil
			}
			if len(args) == 1 {
				return errors.New(`VALUE is missing: give it, or "-" to read it from stdin`)
			}
			return cliutil.Arguments("SLUG", "VALUE")(nil, args)
		},
	}, func(ctx context.Context, args []string) error { return runSet(ctx, env, c, o, args) })
	o.f.flags(c)
	cliutil.BaseFlag(c, &o.set.Base)
	cliutil.SecretFlag(c, &o.allow)
	c.Flags().BoolVar(&o.set.AllowEmpty, "allow-empty", false, "write also an empty text")
	OverFlag(c, &o.set.OverUnreadable)
	return c
}

// runSet writes a memory.
func runSet(ctx context.Context, env *cliutil.Env, c *cobra.Command, o setOptions, args []string) error {
	slug, err := cliutil.OwnSlug(args[0])
	if err != nil {
		return err
	}
	if err := cliutil.CheckHash(o.set.Base); err != nil {
		return err
	}
	draft := write.Draft{}
	if len(args) > 1 {
		if draft.Text, err = Value(env, args[1], o.set.AllowEmpty); err != nil {
			return err
		}
	}
	o.set.Whole, o.set.Later, o.set.Check = env.Flags.Strict, &memory.Later{}, cliutil.Guard(o.allow)
	if o.f.changed(c) {
		if len(args) > 1 && draft.Text == "" {
			return exit.Usagef("an empty text has no fields; without VALUE only fields change")
		}
		if draft.Fields, err = o.f.fields(c); err != nil {
			return err
		}
		return setUnit(ctx, env, slug, draft, o.set)
	}
	return writeOne(ctx, env, slug, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
		o.set.Check = AsItStands(ctx, env, m, slug, o.set.Check)
		return m.Set(ctx, slug, draft.Text, o.set)
	})
}

// Value returns the text that an argument gives, "-" from stdin.
func Value(env *cliutil.Env, arg string, empty bool) (text string, err error) {
	text = arg
	if arg == "-" {
		if text, err = cliutil.Input(env); err != nil {
			return "", err
		}
	}
	if text == "" && !empty {
		return "", exit.Usagef("%w: --allow-empty writes it all the same", client.ErrEmpty)
	}
	return text, cliutil.CheckText(text)
}

// OverFlag is --over-unreadable.
func OverFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "over-unreadable", false, "write also where there is something that cannot be read (exit code 6)")
}

// writeOne runs one write and says what came of it.
func writeOne(ctx context.Context, env *cliutil.Env, slug nipae.Slug, do func(context.Context, *session.Memory) (client.Entry, client.Status, error)) error {
	return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
		entry, status, err := do(ctx, m)
		if err := env.Report(status, cliutil.About(slug, entry, cliutil.Explained(cliutil.Understood(err)))); err != nil {
			return err
		}
		for _, old := range (&write.Writer{Memory: m}).Unmarked(ctx, entry.Text) {
			env.Note("%s is still active: engramctl mem set %s --supersedes %s marks it as superseded", old, slug, old)
		}
		return Wrote(ctx, env, m, entry, status)
	})
}

// Wrote says what was written, or waits.
func Wrote(ctx context.Context, env *cliutil.Env, m *session.Memory, entry client.Entry, status client.Status) error {
	kept := cliutil.Expires(entry)
	if status.Queued {
		kept += "  " + session.Kept
	} else {
		m.Session().PublishUses(ctx)
	}
	return env.Show(WroteOut{cliutil.AnswerOf(m, status), cliutil.EntryFor(entry)}, "%s  %d B  hash %s%s\n", entry.Slug, entry.Size, entry.Hash, kept)
}

func restoreCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		at    string
		allow bool
	}
	c := env.Command(&cobra.Command{
		Use:   "restore SLUG --at TIME|ID [--allow-secret] [--json]",
		Short: "Write an old version of a memory as a new one",
		Long: `Write an old version of a memory (see mem log) as a new one. Nothing is lost by it:
what was current becomes part of the history. A version in which something looks
like a secret is refused (see mem set).`,
		Example: `  engramctl mem restore notes --at 2026-01-31T12:00:00Z
  engramctl mem restore notes --at 5f1b8e0c9a3d2e44`,
	}, cliutil.OnSlug(cliutil.SlugArgument, func(ctx context.Context, slug nipae.Slug, args []string) error {
		when, err := memory.ParseWhen(o.at, time.Now())
		if err != nil {
			return exit.Usagef("--at: %w", err)
		}
		return writeOne(ctx, env, slug, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
			return m.Restore(ctx, slug, when, cliutil.Guard(o.allow))
		})
	}))
	cliutil.SecretFlag(c, &o.allow)
	c.Flags().StringVar(&o.at, "at", "", "the version of `TIME` or ID")
	_ = c.MarkFlagRequired("at") // cannot fail: the flag exists
	return c
}
