package mcp

import (
	"context"
	"errors"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/apart"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

type deleteIn struct {
	Slug string `json:"slug"`
}

type deleteOut struct {
	Slug     string `json:"slug"`
	Deleted  bool   `json:"deleted"`
	StoredOn int    `json:"stored_on" jsonschema:"how many relays took the deletion"`
	answer
}

func (s *writeTools) remove(ctx context.Context, in deleteIn) (deleteOut, error) {
	slug, err := parseOwn(in.Slug)
	if errors.Is(err, write.ErrReserved) && strings.HasPrefix(in.Slug, apart.Prefix) { // it was merged, or is given up
		slug, err = parseSlug(in.Slug)
	}
	if err != nil {
		return deleteOut{}, err
	}
	if slug.IsCore() {
		return deleteOut{}, client.ErrCore
	}
	return writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (deleteOut, error) {
		e, status, err := s.m.session.Remove(ctx, slug, false)
		if err != nil {
			return deleteOut{}, &about{error: err, slug: slug, status: status, entry: e, write: true}
		}
		return deleteOut{Slug: string(slug), Deleted: true, StoredOn: client.Accepted(status.Published), answer: s.m.calls.answerOf(status)}, nil
	})
}

type restoreIn struct {
	Slug        string `json:"slug" jsonschema:"core or mem/x/y"`
	Version     string `json:"version" jsonschema:"id, or a time"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"if told to"`
}

func (s *writeTools) restore(ctx context.Context, in restoreIn) (writeOut, error) {
	slug, err := parseOwn(in.Slug)
	if err != nil {
		return writeOut{}, err
	}
	at, err := memory.ParseWhen(strings.TrimSpace(in.Version), s.m.clock())
	if err != nil {
		return writeOut{}, err
	}
	return writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (writeOut, error) {
		e, status, err := s.m.session.Restore(ctx, slug, at, secrets.Guard(in.AllowSecret, nil))
		if err != nil {
			return writeOut{}, &about{error: err, slug: slug, status: status, version: true, write: true}
		}
		s.m.external.note(e)
		out := s.m.written(e, string(write.Written), status)
		if !slug.IsCore() {
			out.Trust = frontmatter.Parse(e.Text).Trust().String()
		}
		return out, nil
	})
}

type editIn struct {
	Slug        string `json:"slug"`
	OldStr      string `json:"old_str"`
	NewStr      string `json:"new_str"`
	Base        string `json:"base,omitempty" jsonschema:"hash there now"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"if told to"`
}

func (s *writeTools) edit(ctx context.Context, in editIn) (writeOut, error) {
	slug, base, err := parseTarget(in.Slug, in.Base)
	if err != nil {
		return writeOut{}, err
	}
	return writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (writeOut, error) {
		r, err := s.m.writer(ctx).Edit(ctx, slug, in.OldStr, in.NewStr, memory.SetOptions{Base: base, Later: &memory.Later{}, Check: guard(in.AllowSecret, true)})
		if err != nil {
			return writeOut{}, failedWrite(slug, r, err)
		}
		return s.m.wrote(slug, r), nil
	})
}

// maxLabel is the length of the longest label, in bytes.
const maxLabel = 200

type snapshotIn struct {
	Label string `json:"label,omitempty" jsonschema:"what it is before, in few words, kept in clear"`
}

type snapshotOut struct {
	ID        string `json:"id" jsonschema:"tell the user this: engramctl snapshot restore takes it"`
	Outcome   string `json:"outcome" jsonschema:"created, or unchanged: the last snapshot holds just this already, and id names it"`
	Memories  int    `json:"memories" jsonschema:"how many memories it holds, core and deletions included"`
	Size      int64  `json:"size" jsonschema:"bytes"`
	CreatedAt string `json:"created_at"`
	answer
}

func (s *writeTools) snapshot(ctx context.Context, in snapshotIn) (snapshotOut, error) {
	label := strings.TrimSpace(in.Label)
	if len(label) > maxLabel || strings.ContainsFunc(label, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return snapshotOut{}, invalidf("the label is longer than %d bytes, or not one line.", maxLabel)
	}
	if secrets.Check(label) != nil {
		return snapshotOut{}, invalidf("something in the label looks like a key or a token, and it is kept in clear text.")
	}
	return reading(ctx, s.m.calls, func(ctx context.Context) (snapshotOut, error) {
		made, err := s.m.session.Snapshots()(ctx, label)
		if err != nil {
			return snapshotOut{}, &about{error: err, status: made.Status}
		}
		out := snapshotOut{ID: made.ID, Outcome: string(write.Created), Memories: made.Memories, Size: made.Size, CreatedAt: stamp(made.CreatedAt), answer: s.m.calls.answerOf(made.Status)}
		if made.Unchanged {
			out.Outcome = string(write.Unchanged)
		}
		return out, nil
	})
}
