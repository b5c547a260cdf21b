package mcp

import (
	"context"
	"fmt"
	"strings"

	"engramd/internal/memory/anthropicfiles"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// step is one file of a rename.
type step struct {
	held
	to   anthropicfiles.Path
	slug nipae.Slug // of to
}

// renameFile writes all files at their new paths first, then removes the old ones.
// One that says the same at its new path is there from an earlier call.
func (s *fileTools) renameFile(ctx context.Context, old, new string) (said, error) {
	from, folder, err := parsePath(old)
	if err != nil {
		return said{}, err
	}
	to, toFolder, err := parsePath(new)
	switch {
	case err != nil:
		return said{}, err
	case from.IsRoot():
		return said{}, anthropicfiles.Errorf(anthropicfiles.KindInvalid, "Cannot rename the /memories directory itself")
	case to.IsRoot() || from == to:
		return said{}, anthropicfiles.Occupied(to)
	case to.In(from):
		return said{}, anthropicfiles.Errorf(anthropicfiles.KindInvalid, "Cannot move %s into itself", from)
	}
	all, _, status, err := s.allFiles(ctx)
	if err != nil {
		return said{}, err
	}
	some, isFolder, err := chosen(all, status, from, folder)
	if err != nil {
		return said{}, err
	}
	if toFolder && !isFolder {
		return said{}, anthropicfiles.NotFile(to)
	}
	steps, err := planned(all, some, from, to)
	if err != nil {
		return said{}, err
	}
	locked := slugsOf(some)
	for _, st := range steps {
		locked = append(locked, st.slug)
	}
	return writing(ctx, s.m.calls, locked, func(ctx context.Context) (said, error) {
		out, err := s.renameAll(ctx, steps, from, to, isFolder)
		out.text = anthropicfiles.Renamed(from, to)
		return out, err
	})
}

// planned says where each file goes. Nothing may be there, nor at a path that
// cannot be told from it, nor a file where a folder must be.
func planned(all, some []held, from, to anthropicfiles.Path) ([]step, error) {
	var steps []step
	goes := map[nipae.Slug]step{}
	for _, h := range some {
		st := step{held: h, to: to + h.Path[len(from):]}
		if _, _, err := parsePath(string(st.to)); err != nil {
			return nil, err
		}
		var err error
		if st.slug, err = st.to.Slug(); err != nil {
			return nil, err
		}
		switch other, taken := goes[st.slug]; {
		case h.Slug.IsCore() || st.slug.IsCore():
			return nil, anthropicfiles.Errorf(anthropicfiles.KindInvalid, "The core profile, /memories/core.md, is neither renamed nor written over.")
		case taken:
			return nil, alike(st.to, other.to)
		}
		goes[st.slug] = st
		steps = append(steps, st)
	}
	for _, h := range all {
		st, ours := goes[h.Slug]
		switch {
		case to.In(h.Path):
			return nil, anthropicfiles.Errorf(anthropicfiles.KindTaken, "The path %s is not a directory.", h.Path)
		case ours && (h.Slug == st.held.Slug || write.IsMoved(st.Entry, st.to.Kept(st.slug), h.Text)):
		case h.Path == to || h.Path.In(to):
			return nil, anthropicfiles.Occupied(to)
		case ours:
			return nil, alike(st.to, h.Path)
		}
	}
	return steps, nil
}

func (s *fileTools) renameAll(ctx context.Context, steps []step, from, to anthropicfiles.Path, folder bool) (out said, err error) {
	var old []held
	for i, st := range steps {
		r, err := s.m.writer(ctx).Move(ctx, st.Entry, st.slug, st.to.Kept(st.slug), guard(false, true))
		switch failed := failedWrite(st.slug, r, err); {
		case err == nil:
		case !folder:
			return out, failed
		default:
			why := []string{fmt.Sprintf("%s (%s)", st.to, s.m.calls.failure(failed).Code)}
			return out, halfway("%d of %d files are written in %s, and none is removed from where it was", i, len(steps), to, why)
		}
		s.m.external.note(r.Entry)
		out.join(s.m.calls.answerOf(r.Status))
		if st.slug != st.Slug {
			old = append(old, st.held)
		}
	}
	removed, failed, _ := s.removeFiles(ctx, old)
	out.join(removed.answer)
	if len(failed) > 0 {
		return out, halfway("All %[2]d files are written at "+strings.ReplaceAll(string(to), "%", "%%")+", and %[1]d are removed from %[3]s", len(old)-len(failed), len(steps), from, failed)
	}
	return out, nil
}
