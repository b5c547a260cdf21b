package mcp

import (
	"context"
	"errors"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/anthropicfiles"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// parsePath reads a path that is not a program's own.
func parsePath(text string) (path anthropicfiles.Path, folder bool, err error) {
	path, folder, err = anthropicfiles.Parse(text)
	if err == nil && path.Reserved() {
		err = anthropicfiles.Errorf(anthropicfiles.KindInvalid, "The path %s is kept by programs. Use another one.", path)
	}
	return path, folder, err
}

// parseFile reads the path of a file.
func parseFile(text string) (anthropicfiles.Path, nipae.Slug, error) {
	path, folder, err := parsePath(text)
	if err == nil && folder {
		err = anthropicfiles.NotFile(path)
	}
	if err != nil {
		return "", "", err
	}
	slug, err := path.Slug()
	return path, slug, err
}

var errNoFile = errors.New("no file has that path")

// fileAt reads a file. errNoFile: every relay answered, and there is none.
func (s *fileTools) fileAt(ctx context.Context, path anthropicfiles.Path) (client.Entry, client.Status, error) {
	slug, err := path.Slug()
	if err != nil {
		return client.Entry{}, client.Status{}, err
	}
	e, status, err := s.m.session.Read(ctx, slug)
	switch {
	case err == nil && anthropicfiles.Of(slug, e.Text) == path:
		s.m.external.read(e)
		return e, status, nil
	case err == nil && status.Partial:
		err = client.ErrPartial // another one's: a relay may have a newer version
	case err == nil, errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone):
		return e, status, errNoFile
	}
	return e, status, &about{error: err, slug: slug, status: status}
}

// shown is a text with a mark if it is of somebody else's words.
func shown(e client.Entry, text string) string {
	if !e.Slug.IsCore() && frontmatter.Parse(e.Text).Trust() == frontmatter.External {
		return anthropicfiles.Mark + text
	}
	return text
}

func (s *fileTools) viewFile(ctx context.Context, at string, viewRange []int) (said, error) {
	path, folder, err := parsePath(at)
	if err != nil {
		return said{}, err
	}
	if folder {
		return s.viewFolder(ctx, path)
	}
	out, err := reading(ctx, s.m.calls, func(ctx context.Context) (said, error) {
		e, status, err := s.fileAt(ctx, path)
		if err != nil {
			return said{}, err
		}
		s.m.session.Used(ctx, []string{string(e.Slug)})
		return said{shown(e, anthropicfiles.View(path, write.Body(e.Slug, e.Text), viewRange)), s.m.calls.answerOf(status)}, nil
	})
	switch {
	case errors.Is(err, errNoFile) && path.Note():
		return out, anthropicfiles.Missing(path)
	case !path.Note() && (errors.Is(err, errNoFile) || errors.Is(err, client.ErrPartial)):
		return s.viewFolder(ctx, path)
	}
	return out, err
}

func (s *fileTools) createFile(ctx context.Context, at, body string) (said, error) {
	path, slug, err := parseFile(at)
	if strings.TrimRight(at, "/") == anthropicfiles.Root {
		return said{}, anthropicfiles.Exists(anthropicfiles.Root)
	}
	if err != nil {
		return said{}, err
	}
	if err := s.noFolder(ctx, path, anthropicfiles.Exists(path)); err != nil {
		return said{}, err
	}
	return writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (said, error) {
		for _, p := range path.Parents() {
			if _, _, err := s.fileAt(ctx, p); err == nil {
				return said{}, anthropicfiles.Errorf(anthropicfiles.KindTaken, "The path %s is not a directory.", p)
			} else if !errors.Is(err, errNoFile) && !client.Silent(err) {
				return said{}, err
			}
		}
		r, err := s.m.writer(ctx).Create(ctx, slug, body, path.Kept(slug), memory.SetOptions{Later: &memory.Later{}, Check: guard(false, true)})
		var conflict *client.ConflictError
		switch {
		case errors.Is(err, write.ErrTaken) && anthropicfiles.Of(slug, r.Text) == path:
			return said{}, anthropicfiles.Exists(path)
		case errors.Is(err, write.ErrTaken):
			return said{}, alike(path, anthropicfiles.Of(slug, r.Text))
		case errors.As(err, &conflict) && !conflict.Sent && conflict.Theirs != nil && !conflict.Theirs.Tombstone:
			return said{}, anthropicfiles.Exists(path)
		case err != nil:
			return said{}, failedWrite(slug, r, err)
		}
		return s.changedFile(r, anthropicfiles.Created(path)), nil
	})
}

// alike is the refusal of a path that no memory can have beside another one.
func alike(path, other anthropicfiles.Path) error {
	return anthropicfiles.Errorf(anthropicfiles.KindTaken, "The path %s cannot be told from %s, which exists. Choose a name that differs in its letters and digits.", path, other)
}

// changeFile replaces what change makes of a file's body, and how it does. The version that it is
// shown is the base of the write.
func (s *fileTools) changeFile(ctx context.Context, at string, how memory.Later, change func(p anthropicfiles.Path, body string) (changed, arrived, answer string, err error)) (said, error) {
	path, slug, err := parseFile(at)
	if err != nil {
		return said{}, err
	}
	out, err := writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (said, error) {
		var answer string
		r, err := s.m.writer(ctx).Rewrite(ctx, slug, func(head client.Entry, body string) (changed, arrived string, err error) {
			if anthropicfiles.Of(slug, head.Text) != path {
				return "", "", errNoFile
			}
			changed, arrived, answer, err = change(path, body)
			return changed, arrived, err
		}, memory.SetOptions{Later: &how, Check: guard(false, true)})
		var conflict *client.ConflictError
		switch {
		case errors.Is(err, errNoFile) && r.Status.Partial:
			return said{}, failedWrite(slug, r, client.ErrPartial)
		case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone):
			return said{}, errNoFile
		case errors.As(err, &conflict) && conflict.Theirs != nil && conflict.Theirs.Tombstone:
			return said{}, anthropicfiles.Vanished(path)
		case err != nil:
			return said{}, failedWrite(slug, r, err)
		}
		return s.changedFile(r, shown(r.Entry, answer)), nil
	})
	if errors.Is(err, errNoFile) {
		if err := s.noFolder(ctx, path, anthropicfiles.NotFile(path)); err != nil {
			return said{}, err
		}
		return said{}, anthropicfiles.Missing(path)
	}
	return out, err
}

// changedFile is the answer of a write.
func (s *fileTools) changedFile(r write.Result, text string) said {
	return said{text, s.m.wrote(r.Slug, r).answer}
}
