package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	clisnapshot "engramd/internal/cli/snapshot"
	"engramd/internal/client"
	"engramd/internal/memory/folder"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/internal/platform/files"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Options are those of export, import and sync of a folder.
type Options struct{ Delete, Yes, DryRun, all, Allow, Vouched bool }

// Add gives a command the flags.
func (f *Options) Add(c *cobra.Command, mode folder.Mode) {
	fs := c.Flags()
	fs.BoolVar(&f.Delete, "delete", false, "with a folder: what was deleted on one side goes from the other, too")
	if fs.Lookup("yes") == nil {
		fs.BoolVar(&f.Yes, "yes", false, "with a folder: do it on the first run, too, which else only shows what it would do")
	}
	if fs.Lookup("dry-run") == nil {
		fs.BoolVar(&f.DryRun, "dry-run", false, "show what would be done, and do nothing")
	}
	if mode != folder.Export && fs.Lookup("allow-secret") == nil {
		cliutil.SecretFlag(c, &f.Allow)
	}
}

// folderRun is one use of a folder.
type folderRun struct {
	*cliutil.Env
	Options
	mode folder.Mode
	dir  string // as given

	c      *client.Client
	m      *session.Memory
	copy   *session.Copy
	tree   *folder.Tree // nil if there is no folder yet
	state  *folder.State
	first  bool // the folder has no state yet
	quiet  bool // nothing is said where nothing is done
	status client.Status
	out    folderOut
	writer *folderMemory
	// offer asks about a folder that is not registered, before anything is done; nil
	// for none.
	offer func(context.Context, []folder.Step) error
}

// withFolder opens a folder and the memory that it is of.
func withFolder(ctx context.Context, env *cliutil.Env, mode folder.Mode, dir string, f Options, do func(context.Context, *folderRun) error) error {
	opened, err := env.Session(ctx, cliutil.Patiently)
	if err != nil {
		return err
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	if mode != folder.Export && !m.Writable() {
		return exit.Usagef("%w: with the owner's key a folder can be exported, and neither imported nor synced", client.ErrReadOnly)
	}
	r := &folderRun{Env: env, Options: f, mode: mode, dir: dir, c: c, m: m}
	if err := r.openTree(ctx, opened); err != nil {
		return err
	}
	defer func() {
		if r.tree != nil {
			_ = r.tree.Close()
		}
	}()
	if r.copy, err = opened.Copies.Open(ctx, env.NoteLine); err != nil {
		return err
	}
	defer func() { _ = r.copy.Close() }() // what was kept is kept; the rest comes again
	r.writer = newFolderMemory(r)
	return do(ctx, r)
}

// openTree opens the folder and its state, and makes it if it is to be written.
func (r *folderRun) openTree(ctx context.Context, s *session.Session) (err error) {
	path := r.Path(r.dir)
	r.tree, err = folder.Open(path)
	if errors.Is(err, fs.ErrNotExist) && r.mode != folder.Import {
		if r.tree, err = nil, nil; r.Yes && !r.DryRun {
			r.tree, err = folder.Create(path)
		}
	}
	if err != nil {
		return exit.Usagef("%s: %w", r.dir, err)
	}
	if err := r.loadState(); err != nil {
		return err
	}
	r.out.DryRun = r.DryRun || r.first && !r.Yes
	if err := r.whose(ctx, s); err != nil || r.out.DryRun || r.tree == nil {
		return err
	}
	err = r.tree.Lock()
	if errors.Is(err, files.ErrLocked) {
		return fmt.Errorf("%w: another engramctl is at work in %s", client.ErrConflict, r.dir)
	}
	if err != nil {
		return exit.Usagef("%s: %w", r.dir, err)
	}
	return r.loadState() // a run that has just ended has changed it
}

// loadState reads the state, and begins one if there is none.
func (r *folderRun) loadState() (err error) {
	r.state = nil
	if r.tree != nil {
		if r.state, err = r.tree.LoadState(); err != nil {
			return exit.BadUsage(err)
		}
	}
	if r.first = r.state == nil; r.first {
		r.state = folder.NewState(r.m.Agent(), r.m.Owner())
	}
	if err := r.state.Of(r.m.Agent(), r.m.Owner()); err != nil {
		return exit.BadUsage(err)
	}
	return nil
}

// warn says who else may see the texts.
func (r *folderRun) warn() {
	if !r.first {
		return
	}
	if git := folder.InGit(r.Path(r.dir)); git != "" {
		r.Note("%s lies in a git work tree: the texts are clear text, and whoever gets a copy of the repository can read them", r.dir)
	}
	if r.tree != nil && r.tree.Shared() {
		r.Note("others on this machine may look into %s (chmod 700 keeps them out)", r.dir)
	}
}

// runFolder is one export, import or sync.
func runFolder(ctx context.Context, env *cliutil.Env, mode folder.Mode, dir string, f Options) error {
	return withFolder(ctx, env, mode, dir, f, func(ctx context.Context, r *folderRun) error {
		r.warn()
		err := r.once(ctx)
		if r.Flags.JSON && r.out.Items != nil {
			return errors.Join(r.PrintJSON(r.out), err)
		}
		return err
	})
}

// once compares all and does what is to be done.
func (r *folderRun) once(ctx context.Context) error {
	if err := r.copy.CatchUp(ctx, 0); err != nil {
		return err
	}
	units, err := r.units(ctx)
	if err != nil {
		return err
	}
	listing := &folder.Listing{}
	if r.tree != nil {
		if !r.first && r.tree.StateGone() {
			return exit.Usagef("%w: %s has been removed, and nothing is taken for deleted", folder.ErrState, r.dir)
		}
		if listing, err = r.tree.Scan(); err != nil {
			return exit.Usagef("%s: %w", r.dir, err)
		}
	}
	all := r.all
	how := folder.How{Mode: r.mode, Delete: r.Delete, Whole: !r.status.Partial && r.status.Withheld == 0, Skip: func(s nipae.Slug) bool { return !all && write.Reserved(s) }}
	steps, err := folder.Plan(how, folder.Sides{Tree: listing, Units: units, State: r.state})
	if err != nil {
		return exit.BadUsage(err)
	}
	if r.offer != nil {
		if err := r.offer(ctx, steps); err != nil {
			return err
		}
	}
	r.begin(listing)
	if r.out.DryRun {
		for _, s := range steps {
			r.did(s)
		}
		return r.finish()
	}
	if err := r.secure(ctx, steps); err != nil {
		return err
	}
	run := folder.Run{Tree: r.tree, State: r.state, Memory: r.writer, Echo: r.mode == folder.Sync, Did: r.did}
	if err := run.Do(ctx, steps); err != nil {
		return errors.Join(r.finish(), fmt.Errorf("%s: %w; the same command goes on", r.dir, err))
	}
	r.first = false
	if r.mode != folder.Import {
		if n := r.out.Counts; n[folder.ToMemory]+n[folder.RemoveMemory] > 0 {
			units, err = r.held(ctx)
		}
		if err == nil {
			err = r.tree.WriteIndex(r.state, listing, r.shown(units), titleOf)
		}
		if err != nil {
			r.Note("%s: %v", r.dir, err)
		}
	}
	return r.finish()
}

// shown are the units that the folder shows.
func (r *folderRun) shown(units []folder.Unit) []folder.Unit {
	var out []folder.Unit
	for _, u := range units {
		if r.all || !write.Reserved(u.Slug) {
			out = append(out, u)
		}
	}
	return out
}

func titleOf(u folder.Unit) string {
	if u.Slug.IsCore() {
		return ""
	}
	return cliutil.Harmless(answer.Title(frontmatter.Parse(u.Text)))
}

// units returns what the memory has, once a relay has said so.
func (r *folderRun) units(ctx context.Context) ([]folder.Unit, error) {
	state, err := r.copy.State(ctx)
	if err != nil {
		return nil, err
	}
	r.status = r.copy.Status(state)
	failed := []error{client.ErrNoRelay}
	for _, s := range r.status.Relays {
		r.status.Partial = r.status.Partial || s.Err != nil
		if s.Err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.URL, s.Err))
		}
	}
	if !r.copy.Answered() {
		return nil, errors.Join(failed...)
	}
	return r.held(ctx)
}

// held returns what the local copy has.
func (r *folderRun) held(ctx context.Context) (units []folder.Unit, err error) {
	err = r.copy.Read(ctx, func(v *localcopy.View) error {
		units = nil
		for h := range v.Heads("") {
			u := folder.Unit{Slug: nipae.Slug(h.Slug), Hash: h.Hash, ID: h.ID, Removed: h.Tombstone}
			if text, ok := v.Text(h.Slug); ok {
				u.Text = text
			} else if !h.Tombstone {
				return fmt.Errorf("%s: %w", h.Slug, client.ErrUnreadable)
			}
			units = append(units, u)
		}
		return nil
	})
	return units, err
}

// secure makes a snapshot before the memory is first written from the folder.
func (r *folderRun) secure(ctx context.Context, steps []folder.Step) error {
	writes := false
	for _, s := range steps {
		writes = writes || s.What == folder.ToMemory || s.What == folder.RemoveMemory
	}
	if !writes || r.state.Snapshot != "" {
		return nil
	}
	id, err := clisnapshot.Before(ctx, r.Env, r.c)
	if err != nil {
		return fmt.Errorf("nothing is written, because no snapshot could be made before: %w", err)
	}
	if r.state.Snapshot = id; id != folder.NoSnapshot {
		r.Note("snapshot %s has the memory as it was (engramctl snapshot restore)", id)
	}
	return r.tree.SaveState(r.state)
}
