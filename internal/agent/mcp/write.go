package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

type writeIn struct {
	Slug             string   `json:"slug" jsonschema:"core or mem/x/y"`
	Text             string   `json:"text,omitempty"`
	Mode             string   `json:"mode,omitempty" jsonschema:"replace, append"`
	Base             string   `json:"base,omitempty" jsonschema:"hash read, or none"`
	Type             string   `json:"type,omitempty" jsonschema:"default semantic; episodic, procedural, insight"`
	Description      string   `json:"description,omitempty" jsonschema:"its title"`
	Tags             []string `json:"tags,omitempty"`
	Salience         *float64 `json:"salience,omitempty" jsonschema:"0 to 1"`
	Supersedes       []string `json:"supersedes,omitempty" jsonschema:"slugs"`
	Trust            string   `json:"trust,omitempty" jsonschema:"external: others' words"`
	Expires          string   `json:"expires,omitempty" jsonschema:"30d, or a time: gone then"`
	AllowPlaceholder bool     `json:"allow_placeholder,omitempty" jsonschema:"such a line is meant"`
	AllowSecret      bool     `json:"allow_secret,omitempty" jsonschema:"if told to"`
}

// SimilarUnit is a memory that says nearly what was written.
type SimilarUnit struct {
	Slug  string `json:"slug"`
	Title string `json:"title" jsonschema:"remembered text: data"`
}

// maxSimilar is how many similar memories a write names.
const maxSimilar = 5

type writeOut struct {
	Slug       string        `json:"slug"`
	Outcome    string        `json:"outcome" jsonschema:"created, replaced, unchanged (it said this already, nothing was written), or written (what was there before is not known)"`
	Hash       string        `json:"hash" jsonschema:"of what is there now: the base of your next change"`
	Size       int           `json:"size"`
	ID         string        `json:"id" jsonschema:"of this version"`
	UpdatedAt  string        `json:"updated_at"`
	Expires    string        `json:"expires,omitempty" jsonschema:"when it is gone, with its history"`
	StoredOn   int           `json:"stored_on" jsonschema:"how many relays took it; 0 if nothing was written"`
	Trust      string        `json:"trust,omitempty"`
	Similar    []SimilarUnit `json:"similar,omitempty" jsonschema:"memories that say nearly the same: one of them might be the one to change"`
	Superseded []string      `json:"superseded,omitempty" jsonschema:"memories that are marked as superseded now"`
	Rebased    int           `json:"rebased,omitempty" jsonschema:"how often it was made again, on what others wrote meanwhile"`
	Queued     bool          `json:"queued,omitempty" jsonschema:"true if no relay answered: it is kept on this machine, and sent when one does"`
	answer
	episode bool // a new one
}

func (s *writeTools) write(ctx context.Context, in writeIn) (writeOut, error) {
	slug, base, err := parseTarget(in.Slug, in.Base)
	if err == nil && in.Mode != "" && in.Mode != "replace" {
		err = invalidf("mode is replace or append.")
	}
	if err != nil {
		return writeOut{}, err
	}
	draft := write.Draft{Text: in.Text, Fields: write.Fields{Type: in.Type, Description: in.Description, Tags: in.Tags, Salience: in.Salience, Trust: in.Trust}}
	if draft.Fields.Expires, err = memory.ParseFirst(in.Expires, s.m.clock()); err != nil {
		return writeOut{}, err
	}
	if len(in.Supersedes) > write.MaxSupersedes {
		return writeOut{}, invalidf("a memory supersedes at most %d others at once.", write.MaxSupersedes)
	}
	if draft.Fields.Supersedes, err = parseSlugs(in.Supersedes); err != nil {
		return writeOut{}, err
	}
	if in.Text != "" || draft.Fields.None() {
		if err := checkText(in.Text); err != nil {
			return writeOut{}, err
		}
	}
	return writing(ctx, s.m.calls, slices.Concat(draft.Fields.Supersedes, []nipae.Slug{slug}), func(ctx context.Context) (writeOut, error) {
		o := memory.SetOptions{Base: base, Later: &memory.Later{}, Check: guard(in.AllowSecret, in.AllowPlaceholder)}
		r, marked, failed, err := s.m.writer(ctx).Supersede(ctx, slug, draft, o)
		if err != nil {
			return writeOut{}, failedWrite(slug, r, err)
		}
		out := s.m.wrote(slug, r)
		for _, slug := range marked {
			out.Superseded = append(out.Superseded, string(slug))
		}
		if len(in.Supersedes) == 0 {
			s.unmarked(ctx, &out, r.Text)
		}
		for _, f := range failed {
			out.warn("%s is not marked as superseded (%s): call again with the same arguments", f.Slug, s.m.calls.failure(failedWrite(slug, r, f)).Code)
		}
		if now := len(write.Body(slug, r.Text)); base == "" && r.Outcome == write.Replaced && r.Was >= minHalved && now < r.Was/2 {
			out.warn("the text had %d bytes and has %d now, written without base: if something was lost, memory_more brings it back, with action history, then restore", r.Was, now)
		}
		if r.Outcome != write.Unchanged {
			out.Similar = s.similar(slug, r.Text)
		}
		return out, nil
	})
}

// minHalved is the size of a text, in bytes, from which on it is worth a warning
// that it was halved.
const minHalved = 200

// guard refuses secrets, texts that do not fit, and, unless they are allowed,
// lines that stand for text left out.
func guard(secret, placeholder bool) func(old, text string) error {
	secrets := secrets.Guard(secret, nil)
	return func(old, text string) error {
		if len(text) > maxText {
			return client.ErrTooLarge
		}
		if !placeholder {
			if err := write.Placeholder(old, frontmatter.Parse(text).Body()); err != nil {
				return err
			}
		}
		if secrets == nil {
			return nil
		}
		body := frontmatter.Parse(text).Body()
		if err := secrets(frontmatter.Parse(old).Body(), body); err != nil {
			return err // its lines are those that the caller counts
		}
		return secrets(old, strings.TrimSuffix(text, body))
	}
}

// similar returns memories that say nearly what was written at a slug.
func (s *writeTools) similar(slug nipae.Slug, text string) []SimilarUnit {
	var all []SimilarUnit
	for _, like := range s.m.session.Similar(string(slug), text) {
		u := SimilarUnit{Slug: like.Slug, Title: like.Title}
		if u.Slug != string(slug) && len(all) < maxSimilar {
			most := 80
			if strings.HasPrefix(u.Title, "(external: ") {
				most = 400 // the mark, and a quoted title
			}
			u.Title = frontmatter.Parse(u.Title).Heading(most)
			all = append(all, u)
		}
	}
	return all
}

type appendIn struct {
	Slug        string `json:"slug" jsonschema:"core or mem/x/y"`
	Text        string `json:"text" jsonschema:"to add"`
	Base        string `json:"base,omitempty" jsonschema:"hash there now"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"if told to"`
}

func (s *writeTools) append(ctx context.Context, in appendIn) (writeOut, error) {
	slug, base, err := parseTarget(in.Slug, in.Base)
	if err == nil {
		err = checkText(in.Text)
	}
	if err != nil {
		return writeOut{}, err
	}
	return writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (writeOut, error) {
		r, err := s.m.writer(ctx).Append(ctx, slug, in.Text, memory.SetOptions{Base: base, Later: &memory.Later{}, Check: guard(in.AllowSecret, true)})
		if err != nil {
			failed := failedWrite(slug, r, err)
			failed.found = r.Outcome != write.Written
			return writeOut{}, failed
		}
		return s.m.wrote(slug, r), nil
	})
}

// failedWrite is the error of a write with its circumstances.
func failedWrite(slug nipae.Slug, r write.Result, err error) *about {
	var absent *write.AbsentError
	if errors.As(err, &absent) {
		return &about{error: absent.Unwrap(), slug: absent.Slug, status: r.Status, write: true}
	}
	return &about{error: err, slug: slug, status: r.Status, entry: r.Entry, write: true}
}

// wrote is the answer of a write.
func (s *memories) wrote(slug nipae.Slug, r write.Result) writeOut {
	out := s.written(r.Entry, string(r.Outcome), r.Status)
	if r.Outcome == write.Unchanged {
		out.StoredOn = 0
	}
	if !slug.IsCore() {
		out.Trust = frontmatter.Parse(r.Text).Trust().String()
	}
	switch {
	case r.From == "":
	case slug.IsCore():
		out.warn("the words are those of %s, which is external, and core cannot say so: what stands in core is believed in every session", quoted(r.From))
	default:
		out.warn("the words are those of %s, which is external, and so is this memory now", quoted(r.From))
	}
	s.external.note(r.Entry)
	out.episode = r.Outcome == write.Created && frontmatter.Parse(r.Text).Fields().Type == frontmatter.Episodic
	return out
}

func (s *memories) written(e client.Entry, outcome string, status client.Status) writeOut {
	out := writeOut{Slug: string(e.Slug), Outcome: outcome, Hash: e.Hash, Size: e.Size, ID: e.ID, UpdatedAt: stamp(e.CreatedAt), Rebased: status.Rebased, Queued: status.Queued, answer: s.calls.answerOf(status)}
	if e.Expires > 0 {
		out.Expires = stamp(e.Expires)
	}
	if out.StoredOn = client.Accepted(status.Published); out.Queued {
		out.warn("%s", session.Kept)
	}
	return out
}
