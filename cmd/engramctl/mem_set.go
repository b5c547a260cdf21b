package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"engramd/internal/client"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// wroteOut is what a write prints as JSON.
type wroteOut struct {
	answerOut
	entryOut
}

func (a *app) memSetCommand() *cobra.Command {
	var o client.SetOptions
	var f fieldFlags
	var asJSON, allow bool
	var c *cobra.Command
	c = a.command(&cobra.Command{
		Use:   "set SLUG [VALUE|-] [--base HASH] [--type TYPE] [--description LINE] [--tag TAG]… [--salience N] [--supersedes SLUG]… [--trust external] [--allow-empty] [--allow-secret] [--json]",
		Short: "Write a memory",
		Long: `Write a memory, sent to every relay and read back. With "-" the text comes from
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

--type, --description, --tag, --salience, --supersedes and --trust set fields. Then a
VALUE without front matter keeps the fields that the memory has besides, without a VALUE
only fields change, and created, source and trust are stamped: trust is kept or lowered.
--supersedes also marks the memory that it names as superseded. The core has no fields.

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
  engramctl mem set notes - --base "$(engramctl mem hash notes)" < notes.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && f.changed(c) {
				return nil
			}
			if len(args) == 1 {
				return errors.New(`VALUE is missing: give it, or "-" to read it from stdin`)
			}
			return arguments("SLUG", "VALUE")(nil, args)
		},
	}, func(ctx context.Context, args []string) error {
		slug, err := ownSlug(args[0])
		if err != nil {
			return err
		}
		if err := checkHash("--base", o.Base); err != nil {
			return err
		}
		draft := write.Draft{}
		if len(args) > 1 {
			if draft.Text, err = a.value(args[1], o.AllowEmpty); err != nil {
				return err
			}
		}
		o.Whole, o.Check = a.flags.strict, guard(allow)
		if f.changed(c) {
			if len(args) > 1 && draft.Text == "" {
				return usagef("an empty text has no fields; without VALUE only fields change")
			}
			if draft.Fields, err = f.fields(c); err != nil {
				return err
			}
			return a.setUnit(ctx, asJSON, slug, draft, o)
		}
		o.Check = a.asItStands(ctx, slug, o.Check)
		return a.write(ctx, asJSON, slug, func(ctx context.Context, m *client.Memory) (client.Entry, client.Status, error) {
			return m.Set(ctx, slug, draft.Text, o)
		})
	})
	f.flags(c)
	jsonFlag(c, &asJSON)
	baseFlag(c, &o.Base)
	secretFlag(c, &allow)
	c.Flags().BoolVar(&o.AllowEmpty, "allow-empty", false, "write also an empty text")
	overFlag(c, &o.OverUnreadable)
	return c
}

// value returns the text that an argument gives, "-" from stdin.
func (a *app) value(arg string, empty bool) (text string, err error) {
	text = arg
	if arg == "-" {
		if text, err = input(a.Env); err != nil {
			return "", err
		}
	}
	if text == "" && !empty {
		return "", usagef("%w: --allow-empty writes it all the same", client.ErrEmpty)
	}
	return text, checkText(text)
}

// overFlag is --over-unreadable.
func overFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "over-unreadable", false, "write also where there is something that cannot be read (exit code 6)")
}

func baseFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "base", "", "write only if the text now is the one with this `HASH` (\"none\": if there is none)")
}

// checkHash refuses what can be no hash, which would look like a conflict.
func checkHash(flag, hash string) error {
	if hash == "" || hash == client.BaseNone {
		return nil
	}
	for _, r := range hash {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return usagef("%s: want a SHA-256 in 64 lower-case hex digits", flag)
		}
	}
	if len(hash) != 64 {
		return usagef("%s: want a SHA-256 in 64 lower-case hex digits", flag)
	}
	return nil
}

// write runs one write and says what came of it.
func (a *app) write(ctx context.Context, asJSON bool, slug nipae.Slug, do func(context.Context, *client.Memory) (client.Entry, client.Status, error)) error {
	return a.withOwnMemory(ctx, func(ctx context.Context, m *client.Memory) error {
		entry, status, err := do(ctx, m)
		if err := a.report(status, about(slug, entry, explained(understood(err)))); err != nil {
			return err
		}
		for _, old := range (&write.Writer{Memory: m}).Unmarked(ctx, entry.Text) {
			a.note("%s is still active: engramctl mem set %s --supersedes %s marks it as superseded", old, slug, old)
		}
		a.tellUsesBeside(ctx, m)
		if asJSON {
			return a.printJSON(wroteOut{answerOf(m, status), entryFor(entry)})
		}
		return a.print("%s  %d B  hash %s\n", entry.Slug, entry.Size, entry.Hash)
	})
}

// explained adds to a conflict what is there now and what to do.
func explained(err error) error {
	var conflict *client.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	text := "read it again and redo the change"
	if conflict.Sent {
		text += "; what was sent is in mem log"
	}
	if t := conflict.Theirs; t != nil {
		return fmt.Errorf("%w; there now: %s; %s", err, describe(*t), text)
	}
	return fmt.Errorf("%w; %s", err, text)
}

// describe is one version in a few words.
func describe(e client.Entry) string {
	if e.Tombstone {
		return fmt.Sprintf("removed at %s", stamp(e.CreatedAt))
	}
	return fmt.Sprintf("%d B of %s with hash %s", e.Size, stamp(e.CreatedAt), e.Hash)
}
