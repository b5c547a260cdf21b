package files

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/folder"
)

// A folder is the agent's own if this machine registered it: when an export or a sync
// began it, or because a person said so. What a folder says of itself, a state of ours
// included, proves nothing.

// errStrange is a folder without a state of ours whose texts were not written here.
var errStrange = errors.New("its texts were not written here")

// ownPath is the path by which a folder is registered: the same by whatever link it is
// reached.
func ownPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path, nil
}

// whose finds whose folder it is, and registers one that begins here. The error is
// errStrange, or says why the folder cannot be used.
func (r *folderRun) whose(ctx context.Context, s *session.Session) error {
	if r.tree == nil || !r.m.Writable() {
		return nil
	}
	path, err := ownPath(r.Path(r.dir))
	if err != nil {
		return err
	}
	own, known, err := s.OwnsFolder(ctx, path, r.tree.Mark())
	if own || err != nil {
		return err
	}
	listing, err := r.tree.Scan()
	if err != nil {
		return exit.Usagef("%s: %w", r.dir, err)
	}
	texts := len(listing.Files) + len(listing.Conflicts)
	switch {
	case r.first && (r.Vouched || texts == 0 && r.mode != folder.Import):
		if r.out.DryRun {
			return nil
		}
		return register(ctx, s, r.tree, path)
	case r.mode == folder.Export || r.first && texts == 0: // nothing of it is taken
		return nil
	case r.first && r.mode == folder.Import:
		return errStrange
	case r.first:
		return exit.Usagef("%s: %w, and would be taken for this agent's own: engramctl folder register %[1]s says that they are, and engramctl import %[1]s takes them as somebody else's words", r.dir, errStrange)
	case known || r.out.DryRun || !r.Terminal.Stdin || r.Terminal.Line == nil:
		return r.unregistered()
	}
	r.offer = func(ctx context.Context, steps []folder.Step) error { return r.ask(ctx, s, path, steps) }
	return nil
}

// register makes a folder the agent's own.
func register(ctx context.Context, s *session.Session, tree *folder.Tree, path string) error {
	mark, err := s.OwnFolder(ctx, path)
	if err != nil {
		return err
	}
	return tree.SetMark(mark)
}

// unregistered is the error for a folder with a state of ours that is not registered.
func (r *folderRun) unregistered() error {
	return exit.Usagef("%w: this machine has not registered %s, and what stands in a folder proves nothing. If it is this agent's own, run engramctl folder register %[2]s; engramctl import --from folder %[2]s takes it as somebody else's words",
		folder.ErrState, r.dir)
}

// ask offers once to register a folder of an earlier version that has not a text which
// the memory does not have.
func (r *folderRun) ask(ctx context.Context, s *session.Session, path string, steps []folder.Step) error {
	r.offer = nil
	if !folder.Alike(steps) {
		return r.unregistered()
	}
	answer, err := r.Terminal.Line(ctx, r.dir+" says what this agent's memory says, and is not registered on this machine. Is it the agent's own folder? [y/N] ")
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return register(ctx, s, r.tree, path)
	}
	return errors.Join(s.DisownFolder(ctx, path), r.unregistered())
}

// RegisterFolder registers a folder of texts as the agent's own, once a person has said so.
func RegisterFolder(ctx context.Context, env *cliutil.Env, dir string, yes bool) error {
	opened, err := env.Session(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	if !opened.Memory.Writable() {
		return exit.Usagef("%w: a folder is its agent's", client.ErrReadOnly)
	}
	r := &folderRun{Env: env, m: opened.Memory, mode: folder.Import, dir: dir}
	if r.tree, err = folder.Open(env.Path(dir)); err != nil {
		return exit.Usagef("%s: %w", dir, err)
	}
	defer r.tree.Close()
	if err := r.loadState(); err != nil {
		return err
	}
	listing, err := r.tree.Scan()
	if err != nil {
		return exit.Usagef("%s: %w", dir, err)
	}
	path, err := ownPath(env.Path(dir))
	if err != nil {
		return err
	}
	texts := cliutil.Counted(len(listing.Files), "text", "texts")
	if !yes {
		if !env.Terminal.Stdin || env.Terminal.Line == nil {
			return exit.Usagef("there is nobody to ask whether %s are this agent's own: give --yes", texts)
		}
		answer, err := env.Terminal.Line(ctx, fmt.Sprintf("%s in %s: take all of them for this agent's own words? [y/N] ", texts, path))
		if err != nil {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return exit.Usagef("nothing was registered")
		}
	}
	if err := register(ctx, opened, r.tree, path); err != nil {
		return err
	}
	return env.Print("registered %s: %s\n", dir, texts)
}
