package mcp

import (
	"context"
	"slices"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

type renameIn struct {
	Slug      string `json:"slug" jsonschema:"as it is called now"`
	To        string `json:"to" jsonschema:"where nothing is yet"`
	MendLinks bool   `json:"mend_links,omitempty" jsonschema:"links to it too"`
}

type renameOut struct {
	Slug     string   `json:"slug" jsonschema:"the new one"`
	From     string   `json:"from"`
	Removed  bool     `json:"removed" jsonschema:"false: the old one is still there, a warning says why"`
	Hash     string   `json:"hash"`
	Mended   []string `json:"mended,omitempty" jsonschema:"memories of which the links were changed"`
	Unmended []string `json:"unmended,omitempty" jsonschema:"memories that still link to the old slug, the first of them"`
	More     int      `json:"more_unmended,omitempty" jsonschema:"how many do so besides"`
	StoredOn int      `json:"stored_on"`
	answer
}

func (s *writeTools) rename(ctx context.Context, in renameIn) (renameOut, error) {
	from, err := parseOwn(in.Slug)
	if err != nil {
		return renameOut{}, err
	}
	to, err := parseOwn(in.To)
	if err != nil {
		return renameOut{}, err
	}
	return writing(ctx, s.m.calls, []nipae.Slug{from, to}, func(ctx context.Context) (renameOut, error) {
		r, err := s.m.writer(ctx).Rename(ctx, from, to, in.MendLinks, guard(false, true))
		if err != nil {
			failed := failedWrite(from, r.Result, err)
			if r.Slug == to {
				failed.slug = to
			}
			return renameOut{}, failed
		}
		s.m.external.note(r.Entry)
		return s.renamed(from, r), nil
	})
}

// renamed is the answer of a rename, also of one that did not reach all.
func (s *writeTools) renamed(from nipae.Slug, r write.Renamed) renameOut {
	out := renameOut{Slug: string(r.Slug), From: string(from), Removed: r.Kept == nil, Hash: r.Hash, StoredOn: client.Accepted(r.Status.Published), answer: s.m.calls.answerOf(r.Status)}
	why := func(slug nipae.Slug, err error) string {
		return s.m.calls.failure(&about{error: err, slug: slug, write: true}).Code
	}
	if r.Kept != nil {
		out.warn("%s is still there (%s): call again with the same arguments; if that finds another text there, compare both", from, why(from, r.Kept))
	}
	for _, slug := range r.Mended {
		out.Mended = append(out.Mended, string(slug))
	}
	out.More = r.More
	for i, f := range r.Unmended {
		out.Unmended = append(out.Unmended, string(f.Slug))
		if i < maxWarnings {
			out.warn("the links of %s are as they were (%s)", f.Slug, why(f.Slug, f.Unwrap()))
		}
	}
	if r.MendErr != nil {
		out.warn("not every memory was seen (%s): others may link to %s", why("", r.MendErr), from)
	}
	return out
}

type linkIn struct {
	From     string  `json:"from" jsonschema:"which slug says so"`
	To       string  `json:"to" jsonschema:"the slug it is about"`
	Relation string  `json:"relation" jsonschema:"derived_from, supersedes, contradicts, supports, causes, inspired_by or related_to"`
	Strength float64 `json:"strength,omitempty" jsonschema:"up to 1 (default)"`
	Remove   bool    `json:"remove,omitempty" jsonschema:"take it away"`
}

func (s *writeTools) link(ctx context.Context, in linkIn) (writeOut, error) {
	from, err := parseOwn(in.From)
	if err != nil {
		return writeOut{}, err
	}
	to, err := parseSlug(in.To)
	if err != nil {
		return writeOut{}, err
	}
	edge := write.Edge{From: from, To: to, Relation: in.Relation, Strength: in.Strength}
	if edge.Strength == 0 {
		edge.Strength = 1
	}
	return writing(ctx, s.m.calls, []nipae.Slug{from}, func(ctx context.Context) (writeOut, error) {
		w, o := s.m.writer(ctx), memory.SetOptions{Check: guard(false, true)}
		do := w.Relate
		if in.Remove {
			do = w.Unrelate
		}
		r, err := do(ctx, edge, o)
		if err != nil {
			return writeOut{}, failedWrite(from, r, err)
		}
		out := s.m.wrote(from, r)
		s.unmarked(ctx, &out, r.Text, to)
		return out, nil
	})
}

// unmarked warns of what a memory supersedes and is not marked so: of one of those
// slugs, or, without, of any.
func (s *writeTools) unmarked(ctx context.Context, out *writeOut, text string, of ...nipae.Slug) {
	for _, old := range s.m.writer(ctx).Unmarked(ctx, text) {
		if len(of) == 0 || slices.Contains(of, old) {
			out.warn("%s is still active: memory_write with slug %s and supersedes [%s], without text, marks it as superseded", old, out.Slug, old)
		}
	}
}
