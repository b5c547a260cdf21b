package mcp

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"engramd/internal/client"
	"engramd/internal/secrets"
	"engramd/nips/nipae"
)

type writeIn struct {
	Slug        string `json:"slug" jsonschema:"core, or a slug such as mem/projects/atlas; mem/ may be left out"`
	Text        string `json:"text" jsonschema:"the whole new text, which replaces what was there; up to about 65000 bytes, better under 4000; refer to other memories as [[mem/…]]"`
	Base        string `json:"base,omitempty" jsonschema:"the hash that memory_read gave for the text you changed, or none for a new memory. With it, the write fails with a conflict if somebody else wrote meanwhile. Leave it out only to replace whatever is there"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"store the text although something in it looks like a key or token. Only if the user said so: it cannot be taken back later"`
}

// Outcomes of a write.
const (
	outcomeCreated   = "created"
	outcomeReplaced  = "replaced"
	outcomeUnchanged = "unchanged"
	outcomeWritten   = "written"
)

type writeOut struct {
	Slug      string `json:"slug"`
	Outcome   string `json:"outcome" jsonschema:"created, replaced, unchanged (it said this already, nothing was written), or written (what was there before is not known)"`
	Hash      string `json:"hash" jsonschema:"of the text that is there now: the base of your next change"`
	Size      int    `json:"size"`
	ID        string `json:"id" jsonschema:"of this version"`
	UpdatedAt string `json:"updated_at"`
	StoredOn  int    `json:"stored_on" jsonschema:"how many relays took it; 0 if nothing was written"`
	answer
}

// parseWrite checks the arguments that all tools that write a text have.
func parseWrite(rawSlug, rawBase, text string) (slug nipae.Slug, base string, err error) {
	if slug, err = parseSlug(rawSlug); err != nil {
		return "", "", err
	}
	if base, err = parseBase(rawBase); err != nil {
		return "", "", err
	}
	return slug, base, checkText(text)
}

func (s *Server) write(ctx context.Context, in writeIn) (writeOut, error) {
	slug, base, err := parseWrite(in.Slug, in.Base, in.Text)
	if err != nil {
		return writeOut{}, err
	}
	return writing(ctx, s, slug, func(ctx context.Context) (writeOut, error) {
		head, outcome, status, err := s.before(ctx, slug)
		switch {
		case err != nil && !(errors.Is(err, client.ErrPartial) && base == ""):
			return writeOut{}, &about{error: err, slug: slug, status: status, write: true}
		case err == nil && outcome == outcomeReplaced && head.Text == in.Text && !status.Partial:
			// This holds also if base is the version before: the call was made
			// before.
			return s.written(head, outcomeUnchanged, status), nil
		case base != "" && head.Hash != base && !(base == client.BaseNone && head.Hash == ""):
			conflict := &client.ConflictError{Reason: "the text is not the one that the change was made for"}
			if outcome == outcomeReplaced || head.Tombstone {
				conflict.Theirs = &head
			}
			return writeOut{}, &about{error: conflict, slug: slug, status: status, write: true}
		}
		return s.set(ctx, slug, in.Text, client.SetOptions{Base: base, Check: secrets.Guard(in.AllowSecret, nil)}, outcome)
	})
}

type appendIn struct {
	Slug        string `json:"slug" jsonschema:"core, or a slug such as mem/journal/2026-01; mem/ may be left out"`
	Text        string `json:"text" jsonschema:"what to add at the end, on a new line"`
	Base        string `json:"base,omitempty" jsonschema:"the hash of the text that you expect to be there; the current one, whatever it is, if left out"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"store the text although something in it looks like a key or token. Only if the user said so: it cannot be taken back later"`
}

func (s *Server) append(ctx context.Context, in appendIn) (writeOut, error) {
	slug, base, err := parseWrite(in.Slug, in.Base, in.Text)
	if err != nil {
		return writeOut{}, err
	}
	return writing(ctx, s, slug, func(ctx context.Context) (writeOut, error) {
		head, outcome, status, err := s.before(ctx, slug)
		if err != nil {
			return writeOut{}, &about{error: err, slug: slug, status: status, write: true}
		}
		if base == "" {
			base = cmp.Or(head.Hash, client.BaseNone)
		}
		text := head.Text
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		// The text must be appended to the newest version, and a relay that
		// failed may have a newer one.
		return s.set(ctx, slug, text+in.Text, client.SetOptions{Base: base, Whole: true, Check: secrets.Guard(in.AllowSecret, nil)}, outcome)
	})
}

// before reads the version that a write is about to replace, and returns how
// the outcome will be called. It is not an error if there is none.
func (s *Server) before(ctx context.Context, slug nipae.Slug) (client.Entry, string, client.Status, error) {
	head, status, err := s.o.Memory.Get(ctx, slug)
	switch {
	case err == nil:
		return head, outcomeReplaced, status, nil
	case errors.Is(err, client.ErrPartial):
		return client.Entry{}, outcomeWritten, status, err
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone):
		head.Text, head.Hash = "", ""
		return head, outcomeCreated, status, nil
	}
	return client.Entry{}, outcomeWritten, status, err
}

func (s *Server) set(ctx context.Context, slug nipae.Slug, text string, o client.SetOptions, outcome string) (writeOut, error) {
	if len(text) > maxText {
		return writeOut{}, client.ErrTooLarge
	}
	e, status, err := s.o.Memory.Set(ctx, slug, text, o)
	if err != nil {
		return writeOut{}, &about{error: err, slug: slug, status: status, write: true, found: o.Whole}
	}
	return s.written(e, outcome, status), nil
}

func (s *Server) written(e client.Entry, outcome string, status client.Status) writeOut {
	out := writeOut{Slug: string(e.Slug), Outcome: outcome, Hash: e.Hash, Size: e.Size, ID: e.ID, UpdatedAt: stamp(e.CreatedAt), answer: s.answerOf(status)}
	out.StoredOn = stored(status)
	return out
}

// stored counts the relays that took the write.
func stored(status client.Status) (n int) {
	for _, p := range status.Published {
		if p.Accepted {
			n++
		}
	}
	return n
}

type deleteIn struct {
	Slug string `json:"slug" jsonschema:"a slug such as mem/projects/atlas; core cannot be deleted"`
}

type deleteOut struct {
	Slug     string `json:"slug"`
	Deleted  bool   `json:"deleted"`
	StoredOn int    `json:"stored_on" jsonschema:"how many relays took the deletion"`
	answer
}

func (s *Server) remove(ctx context.Context, in deleteIn) (deleteOut, error) {
	slug, err := parseSlug(in.Slug)
	if err != nil {
		return deleteOut{}, err
	}
	if slug.IsCore() {
		return deleteOut{}, client.ErrCore
	}
	return writing(ctx, s, slug, func(ctx context.Context) (deleteOut, error) {
		e, status, err := s.o.Memory.Remove(ctx, slug, false)
		if err != nil {
			return deleteOut{}, &about{error: err, slug: slug, status: status, entry: e, write: true}
		}
		return deleteOut{Slug: string(slug), Deleted: true, StoredOn: stored(status), answer: s.answerOf(status)}, nil
	})
}

type restoreIn struct {
	Slug        string `json:"slug" jsonschema:"core, or a slug such as mem/projects/atlas"`
	Version     string `json:"version" jsonschema:"its id from memory_history (8 or more digits of it), or a time such as 2026-01-31T12:00:00Z: then the version that was current at that time"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"store the text although something in it looks like a key or token. Only if the user said so: it cannot be taken back later"`
}

func (s *Server) restore(ctx context.Context, in restoreIn) (writeOut, error) {
	slug, err := parseSlug(in.Slug)
	if err != nil {
		return writeOut{}, err
	}
	at, err := client.ParseWhen(strings.TrimSpace(in.Version), s.o.Clock())
	if err != nil {
		return writeOut{}, err
	}
	return writing(ctx, s, slug, func(ctx context.Context) (writeOut, error) {
		e, status, err := s.o.Memory.Restore(ctx, slug, at, secrets.Guard(in.AllowSecret, nil))
		if err != nil {
			return writeOut{}, &about{error: err, slug: slug, status: status, version: true, write: true}
		}
		return s.written(e, outcomeWritten, status), nil
	})
}

// parseBase checks a hash.
func parseBase(text string) (string, error) {
	base := strings.ToLower(strings.TrimSpace(text))
	if base != "" && base != client.BaseNone && (len(base) != 64 || strings.Trim(base, "0123456789abcdef") != "") {
		f := invalidf("base is not a hash: it has 64 hex digits.")
		f.Action = "Give the hash that memory_read returned for the text you changed, or leave base out."
		return "", f
	}
	return base, nil
}

func checkText(text string) error {
	switch {
	case text == "":
		return client.ErrEmpty
	case len(text) > maxText:
		return client.ErrTooLarge
	}
	return nil
}
