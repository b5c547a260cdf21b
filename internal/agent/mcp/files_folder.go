package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/anthropicfiles"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// maxTogether is how many files one command removes or renames.
const maxTogether = 64

// held is a file with its memory.
type held struct {
	anthropicfiles.File
	client.Entry
}

func fileOf(slug nipae.Slug, text string) anthropicfiles.File {
	return anthropicfiles.File{Path: anthropicfiles.Of(slug, text), Size: len(write.Body(slug, text)),
		External: !slug.IsCore() && strings.HasPrefix(text, "---") && frontmatter.Parse(text).Trust() == frontmatter.External}
}

// viewFolder lists a folder, from the local copy if every relay has confirmed it
// lately and it has something there, else from the relays.
func (s *fileTools) viewFolder(ctx context.Context, path anthropicfiles.Path) (said, error) {
	if s.m.session.Source() != nil {
		var files []anthropicfiles.File
		var a answer
		err := s.m.session.Source().Read(ctx, func(v recallanswer.View) error {
			state := v.State()
			if state.Stale || state.Unfinished {
				return nil
			}
			for _, h := range v.Heads() {
				text, _ := v.Text(h.Slug)
				files = append(files, fileOf(nipae.Slug(h.Slug), text))
			}
			files = anthropicfiles.Within(files, path)
			a = s.m.answerFrom(state, len(files))
			return nil
		})
		if err == nil && len(files) > 0 {
			return said{anthropicfiles.List(path, files), a}, nil
		}
	}
	all, l, status, err := s.allFiles(ctx)
	if err != nil {
		return said{}, err
	}
	var files []anthropicfiles.File
	for _, h := range all {
		files = append(files, h.File)
	}
	out := said{answer: s.m.calls.answerOf(status)}
	switch files = anthropicfiles.Within(files, path); {
	case len(files) > 0:
	case !path.IsRoot() && status.Partial:
		return said{}, &about{error: client.ErrPartial, status: status}
	case !path.IsRoot() && status.Withheld > 0:
		return said{}, &about{error: client.ErrBehind, status: status}
	case !path.IsRoot():
		return said{}, anthropicfiles.Missing(path)
	case len(all) == 0:
		if err := s.rightPair(ctx); err != nil {
			return said{}, err
		}
	}
	if l.Unreadable > 0 {
		out.warn("%d memories exist besides that cannot be read, and whose paths are unknown", l.Unreadable)
	}
	out.text = anthropicfiles.List(path, files)
	return out, nil
}

// rightPair makes sure, before an agent is told that it remembers nothing, that
// this is its memory.
func (s *fileTools) rightPair(ctx context.Context) error {
	_, err := reading(ctx, s.m.calls, func(ctx context.Context) (bool, error) {
		others, status, err := s.m.session.CoreAbsent(ctx)
		if err == nil && len(others.Keys) > 0 {
			err = client.ErrNotFound
		}
		if err != nil {
			return false, &about{error: err, status: status, others: others}
		}
		return true, nil
	})
	return err
}

// allFiles asks the relays for all files.
func (s *fileTools) allFiles(ctx context.Context) ([]held, memory.Listing, client.Status, error) {
	l, status, err := s.m.everything(ctx)
	if err != nil {
		return nil, l, status, err
	}
	var all []held
	for _, e := range heads(l) {
		all = append(all, held{fileOf(e.Slug, e.Text), e})
	}
	return all, l, status, nil
}

// noFolder is taken if the path is that of a folder, nil if it cannot be one.
func (s *fileTools) noFolder(ctx context.Context, path anthropicfiles.Path, taken error) error {
	if path.Note() {
		return nil
	}
	all, _, status, err := s.allFiles(ctx)
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.Path.In(path) {
			return taken
		}
	}
	switch {
	case status.Partial:
		return &about{error: client.ErrPartial, status: status, write: true}
	case status.Withheld > 0: // one of them may be in it
		return &about{error: client.ErrBehind, status: status, write: true}
	}
	return nil
}

// chosen returns the file of a path, else those of the folder. Every relay must
// have said which those are.
func chosen(all []held, status client.Status, path anthropicfiles.Path, folder bool) (some []held, isFolder bool, err error) {
	for _, h := range all {
		switch {
		case h.Path == path && !folder:
			return []held{h}, false, nil
		case h.Path.In(path) && !h.Path.Reserved():
			some = append(some, h)
		}
	}
	switch {
	case status.Partial:
		return nil, true, &about{error: client.ErrPartial, status: status, write: true}
	case status.Withheld > 0: // one of them may be in it
		return nil, true, &about{error: client.ErrBehind, status: status, write: true}
	case len(some) == 0:
		return nil, true, anthropicfiles.Gone(path)
	case len(some) > maxTogether:
		return nil, true, anthropicfiles.Errorf(anthropicfiles.KindInvalid, "The directory %s has %d files, and one command changes at most %d. Nothing was changed. Take its subdirectories or files one by one.", path, len(some), maxTogether)
	}
	return some, true, nil
}

func slugsOf(some []held) (all []nipae.Slug) {
	for _, h := range some {
		all = append(all, h.Slug)
	}
	return all
}

func (s *fileTools) deleteFile(ctx context.Context, at string) (said, error) {
	path, folder, err := parsePath(at)
	switch {
	case err != nil:
		return said{}, err
	case path.IsRoot():
		return said{}, anthropicfiles.RootStays()
	}
	var some []held
	if !folder {
		one, err := reading(ctx, s.m.calls, func(ctx context.Context) (client.Entry, error) {
			e, _, err := s.fileAt(ctx, path)
			return e, err
		})
		switch {
		case errors.Is(err, errNoFile) && path.Note():
			return said{}, anthropicfiles.Gone(path)
		case errors.Is(err, errNoFile):
			folder = true
		case err != nil:
			return said{}, err
		case one.Slug.IsCore():
			return said{}, client.ErrCore
		default:
			some = []held{{anthropicfiles.File{Path: path}, one}}
		}
	}
	if folder {
		all, _, status, err := s.allFiles(ctx)
		if err != nil {
			return said{}, err
		}
		if some, _, err = chosen(all, status, path, true); err != nil {
			return said{}, err
		}
	}
	return writing(ctx, s.m.calls, slugsOf(some), func(ctx context.Context) (said, error) {
		out, failed, err := s.removeFiles(ctx, some)
		switch {
		case len(failed) == 0:
			out.text = anthropicfiles.Deleted(path)
			return out, nil
		case !folder:
			return out, err
		}
		return out, halfway("%d of %d files of %s are deleted", len(some)-len(failed), len(some), path, failed)
	})
}

// halfway is the failure of a command that did not reach all of its files.
func halfway(format string, done, of int, path anthropicfiles.Path, failed []string) *Failure {
	f := &Failure{Code: CodePartial, Message: fmt.Sprintf(format, done, of, path) + ". Not so: " + strings.Join(failed[:min(len(failed), maxWarnings)], ", ")}
	if more := len(failed) - maxWarnings; more > 0 {
		f.Message += fmt.Sprintf(" and %d more", more)
	}
	f.Message += "."
	f.Action = "Call again with the same arguments. What was changed meanwhile by somebody else, view first."
	return f
}

// removeFiles removes files in the version that was read. failed names those that
// are still there and why, err is the last reason.
func (s *fileTools) removeFiles(ctx context.Context, some []held) (out said, failed []string, err error) {
	for _, h := range some {
		e, status, reason := s.m.session.RemoveVersion(ctx, h.Slug, h.Hash)
		if errors.Is(reason, client.ErrNotFound) || errors.Is(reason, client.ErrTombstone) {
			reason = nil // somebody removed it meanwhile
		}
		if reason != nil {
			err = &about{error: reason, slug: h.Slug, status: status, entry: e, write: true}
			failed = append(failed, fmt.Sprintf("%s (%s)", h.Path, s.m.calls.failure(err).Code))
			continue
		}
		out.join(s.m.calls.answerOf(status))
	}
	return out, failed, err
}

// join adds what is to be said of one more step.
func (a *answer) join(b answer) {
	a.Partial = a.Partial || b.Partial
	for _, w := range b.Warnings {
		if len(a.Warnings) < maxWarnings && !slices.Contains(a.Warnings, w) {
			a.Warnings = append(a.Warnings, w)
		}
	}
}
