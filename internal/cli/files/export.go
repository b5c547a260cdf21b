// Package files has the commands that bring a memory into files, and files into a
// memory: engramctl export, import and sync DIR.
package files

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/files/from"
	"engramd/internal/memory/folder"
	"engramd/nips/frontmatter"
)

// NewExport returns the command export.
func NewExport(env *cliutil.Env) *cobra.Command {
	var f Options
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "export DIR [--yes] [--dry-run] [--delete] [--all] [--json]",
		Short: "Write the memory into a folder of text files",
		Long: `Write the memory into a folder, each text as it is, byte for byte: DIR/core.md,
DIR/mem/people/ana.md and so on, and DIR/index.md with a title for each. Links like
[[mem/people/ana]] lead there in Obsidian. The key may be the owner's.

The first run with a folder only shows what it would do; --yes does it. What was written
is known in DIR/.engram/state.json. Files that were changed since are left alone: if the
memory was changed too, its text is put beside the file as NAME.conflict.md (exit code
5). With --delete a file goes whose memory was removed, if it is as it was and every
relay says so. --all also writes what programs keep (mem/sys/ and so on).

It is clear text: new files and folders are for their user alone, and a folder in a git
work tree is warned of. docs/folders.md has more.`,
		Example: `  engramctl export ~/memory --yes
  grep -ril atlas ~/memory`,
	}, func(ctx context.Context, args []string) error { return runFolder(ctx, env, folder.Export, args[0], f) }))
	f.Add(c, folder.Export)
	c.Flags().BoolVar(&f.all, "all", false, "what programs keep, too (mem/sys/, mem/proposals/, mem/proposals-answers/)")
	return c
}

// NewImport returns the command import.
func NewImport(env *cliutil.Env) *cobra.Command {
	var o struct {
		source from.Options
		folder Options
	}
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "import DIR|FILE.jsonl|--from SOURCE PATH [--yes] [--dry-run] [--delete] [--update] [--prefix SLUG] [--trust observed] [--allow-secret] [--json]",
		Short: "Bring in a folder of text files, or what another tool remembers",
		Long: `Write into the memory what was changed in a folder of .md files that is this agent's own:
one that engramctl export or sync began on this machine, or that a person registered
(engramctl folder register). DIR/mem/people/ana.md becomes mem/people/ana, byte for byte.
A name that is no slug becomes one in small letters with "-"; two files of one slug are
an error. Left alone are index.md, NAME.conflict.md, hidden files, links, and what is no
text.

Any other folder is taken as with --from folder: as somebody else's words, without a
core, a narrative and intentions. --trust observed says that it is this agent's own, and
registers it. One with a state of engramctl's that this machine has not registered is
refused.

The first run with a folder only shows what it would do; --yes does it, and makes a
snapshot first. What was changed in the memory too is a conflict (exit code 5): its text
is put beside the file as NAME.conflict.md. Make NAME.md what it should be, delete
NAME.conflict.md and run it again. With --delete a memory is removed whose file is gone.
As with mem set, a text may not claim another created, source, session or consolidated
than the memory has, or more trust, and no secret. docs/folders.md has more.

FILE.jsonl is what engramctl snapshot export --plain wrote. Where it bears the mark of
this agent and owner, and no byte was changed since, what is not there is written with
--yes as it was, and what is there with another text is left alone. Any other is taken as
with --from folder, and so is one of an earlier version, which has no mark, unless
--trust observed says that it is this agent's own.

` + from.Help(),
		Example: `  engramctl import ~/memory
  engramctl import ~/Downloads/notes --yes
  engramctl import --from claude-code ~/.claude
  engramctl import --from claude-code ~/.claude --yes
  engramctl import --from obsidian ~/Vault --prefix mem/vault --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if o.source.From != "" {
				return cliutil.Arguments("PATH")(nil, args)
			}
			return cliutil.Arguments("DIR")(nil, args)
		},
	}, func(ctx context.Context, args []string) error {
		if o.source.From != "" {
			if o.folder.Delete {
				return exit.Usagef("--delete is for a folder of text files: --from removes nothing")
			}
			return from.Import(ctx, env, args[0], o.source, o.folder.Yes && !o.folder.DryRun)
		}
		return importFiles(ctx, env, args[0], o.source, o.folder)
	}))
	o.source.Flags(c)
	c.Flags().BoolVar(&o.folder.Yes, "yes", false, "write; without it what would be written is shown (of a folder, on the first run)")
	o.folder.Add(c, folder.Import)
	return c
}

// importFiles takes a folder of texts, or a plain export. The texts of a folder that is
// not the agent's own are taken as another tool's are.
func importFiles(ctx context.Context, env *cliutil.Env, arg string, of from.Options, f Options) error {
	plain := isPlain(env, arg)
	switch {
	case of.Prefix != "" || of.Update:
		return exit.Usagef("--prefix and --update are for --from")
	case plain && f.Delete:
		return exit.Usagef("--delete is for a folder of text files")
	case of.Trust != "" && of.Trust != frontmatter.Observed.String():
		return exit.Usagef("--trust %q: the texts of a folder are the agent's own where it is registered, and with observed, else external", of.Trust)
	}
	f.Allow, f.Vouched = of.Allow, of.Trust != ""
	take := func() error { return runFolder(ctx, env, folder.Import, arg, f) }
	if plain {
		take = func() error { return importPlain(ctx, env, arg, f) }
	}
	err, why := take(), "is not registered on this machine"
	if errors.Is(err, errUnproven) {
		err, why = errStrange, "has no mark of this agent and owner, or was changed since it was exported"
	}
	if !errors.Is(err, errStrange) {
		return err
	}
	if f.Delete {
		return exit.Usagef("--delete is for a folder that is this agent's own, and %s %s", arg, why)
	}
	env.Note("%s %s: its texts are taken as somebody else's words, below mem/imported/folder. --trust observed says that they are this agent's own", arg, why)
	of.From = "folder"
	return from.Import(ctx, env, arg, of, f.Yes && !f.DryRun)
}

// How sync --watch waits.
const (
	watchQuiet = 300 * time.Millisecond // after a change, for those that belong to it
	watchMost  = 3 * time.Second        // for them at most
	watchEvery = 5 * time.Minute        // between two looks if nothing is heard of
)

// Sync makes a folder and the memory alike, once or from now on.
func Sync(ctx context.Context, env *cliutil.Env, dir string, f Options, watch bool) error {
	if !watch {
		return runFolder(ctx, env, folder.Sync, dir, f)
	}
	if f.DryRun || env.Flags.JSON {
		return exit.Usagef("--watch goes with neither --dry-run nor --json")
	}
	return withFolder(ctx, env, folder.Sync, dir, f, func(ctx context.Context, r *folderRun) error {
		if r.out.DryRun {
			return exit.Usagef("the first run with %s only shows what it would do: see what that is with engramctl sync %[1]s, or give --yes", dir)
		}
		r.warn()
		return r.watch(ctx)
	})
}

// watch syncs whenever something changes, until the context ends.
func (r *folderRun) watch(ctx context.Context) error {
	came := make(chan struct{}, 1)
	tell := func() {
		select {
		case came <- struct{}{}:
		default: // it is told already
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	wait, err := folder.Watch(ctx, r.Path(r.dir), tell)
	if err != nil {
		cancel()
		return exit.Usagef("%s cannot be watched: %w", r.dir, err)
	}
	defer wait()
	defer cancel()
	if err := r.copy.CatchUp(ctx, 0); err != nil {
		return err
	}
	r.copy.Tell(tell)
	r.copy.KeepCurrent(ctx, nil)
	r.Note("watching %s; an interrupt ends it", r.dir)
	for {
		r.quiet = true
		err := r.once(ctx)
		if errors.Is(err, folder.ErrState) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			r.Note("%v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-came:
			if !folder.Settle(ctx, came, watchQuiet, watchMost, time.After) {
				return nil
			}
		case <-time.After(watchEvery):
		}
	}
}
