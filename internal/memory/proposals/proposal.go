package proposals

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Act is what a proposal wants done.
type Act string

// The acts.
const (
	Write   Act = "write"   // a text of the proposer's, new or in place of another
	Edit    Act = "edit"    // a text corrected: it is still what it was
	Archive Act = "archive" // have it recalled no more
	Delete  Act = "delete"
	Restore Act = "restore" // an old version
)

// Bounds.
const (
	// MaxWhy is the most that a reason takes, in bytes.
	MaxWhy = 1 << 10
	// MaxText is the most that the text of a proposal takes, in bytes: what an
	// engram holds.
	MaxText = nipae.MaxBody
	// minVersion is the length of the shortest part of an id that names a version.
	minVersion = 8
)

// OriginMember is the member of a proposal's body that holds the original event
// of a text that another agent wrote, in place of a text.
const OriginMember = "origin"

// ErrForm is a text that is no proposal or no answer.
var ErrForm = errors.New("not a proposal")

// Proposal is one, with what its event says of it.
type Proposal struct {
	ID        string // 32 lower-case hex digits, of its slug
	EventID   string // 64 lower-case hex digits
	Proposer  string // public key, 64 lower-case hex digits; so is Agent
	Agent     string
	CreatedAt int64 // of the event, Unix seconds

	Act     Act
	Slug    nipae.Slug
	Base    string // Hash of the text that it is made for, or memory.BaseNone
	Version string // id of the version to restore, or 8 or more of its first digits
	Why     string // one line, at most MaxWhy bytes
	// Vouch says that the proposer wants the whole text believed as its own words,
	// where otherwise the text's trust stays.
	Vouch bool
	// Text is the whole new text of a Write or Edit, front matter included.
	Text string
	// Origin is the member OriginMember of the body; then a Write has no Text.
	Origin jsontext.Value
}

// keys are those of a proposal's front matter, in the order in which they are
// written.
var proposalKeys = []string{"propose", "slug", "base", "version", "why", "vouch"}

// Parse reads the text of a proposal. What its event says is not in it, nor is
// the origin: a Write without a text is one that has an origin. The error is
// ErrForm.
func Parse(text string) (Proposal, error) {
	if len(text) > MaxText {
		return Proposal{}, fmt.Errorf("%w: longer than %d bytes", ErrForm, MaxText)
	}
	d := frontmatter.Parse(text)
	if err := each(d, proposalKeys); err != nil {
		return Proposal{}, err
	}
	f := d.Fields()
	p := Proposal{Act: Act(f.Propose), Slug: nipae.Slug(f.Slug), Base: f.Base, Version: f.Version, Why: f.Why, Vouch: f.Vouch, Text: d.Body()}
	if p.Base == "" {
		p.Base = memory.BaseNone // a text that is written for no other replaces none
	}
	p.Why = frontmatter.OneLine(p.Why)
	return p, p.check()
}

// each refuses front matter in which a key of ours stands twice, or cannot be
// read.
func each(d frontmatter.Doc, keys []string) error {
	seen := map[string]bool{}
	for _, key := range d.Keys() {
		if seen[key] {
			return fmt.Errorf("%w: it says twice what its %s is", ErrForm, quotable(key))
		}
		seen[key] = true
	}
	for _, key := range keys {
		if v, ok := d.Value(key); ok {
			if _, scalar := v.Scalar(); !scalar {
				return fmt.Errorf("%w: its %s is a list", ErrForm, key)
			}
		}
	}
	for _, f := range d.Faults() {
		if f.Key == "vouch" {
			return fmt.Errorf("%w: vouch is true or false", ErrForm)
		}
	}
	return nil
}

// quotable returns a key as an error may show it.
func quotable(key string) string {
	if key = frontmatter.OneLine(key); len(key) > 40 {
		return "key"
	}
	return key
}

// check says what is wrong with what a proposal wants.
func (p Proposal) check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrForm}, args...)...)
	}
	if _, err := nipae.ParseSlug(string(p.Slug)); err != nil {
		return wrong("its slug is none")
	}
	switch {
	case write.Reserved(p.Slug):
		return wrong("its slug is reserved")
	case !isBase(p.Base):
		return wrong("its base is neither a hash nor %q", memory.BaseNone)
	case len(p.Why) > MaxWhy:
		return wrong("its reason is longer than %d bytes", MaxWhy)
	case len(p.Text) > MaxText:
		return wrong("its text is longer than %d bytes", MaxText)
	}
	switch p.Act {
	case Write, Edit:
		return p.checkText(wrong)
	case Archive, Delete, Restore:
		return p.checkRest(wrong)
	}
	return wrong("it wants nothing that is known")
}

func (p Proposal) checkText(wrong func(string, ...any) error) error {
	switch {
	case p.Version != "":
		return wrong("only restore names a version")
	case p.Act == Edit && p.Text == "":
		return wrong("it has no text")
	case p.Act == Edit && p.Base == memory.BaseNone:
		return wrong("an edit is made for a text, and names no base")
	}
	return nil
}

func (p Proposal) checkRest(wrong func(string, ...any) error) error {
	switch {
	case p.Text != "":
		return wrong("%s has no text", p.Act)
	case p.Slug.IsCore() && p.Act != Restore:
		return wrong("core is neither archived nor removed")
	case p.Act != Restore && p.Base == memory.BaseNone:
		return wrong("%s is made for a text, and names no base", p.Act)
	case p.Act != Restore && p.Version != "":
		return wrong("only restore names a version")
	case p.Act == Restore && !isHexPart(p.Version, minVersion):
		return wrong("the version to restore is named by its id, or by %d digits of it and more", minVersion)
	}
	return nil
}

func isBase(s string) bool { return s == memory.BaseNone || isHexPart(s, 64) }

// isHexPart reports whether s is least to 64 lower-case hex digits.
func isHexPart(s string, least int) bool {
	return len(s) >= least && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Render returns the text of a proposal, which Parse reads. The error is ErrForm,
// also for a reason that does not fit beside the rest.
func (p Proposal) Render() (string, error) {
	p.Why = frontmatter.OneLine(p.Why)
	if err := p.check(); err != nil {
		return "", err
	}
	fields := []frontmatter.Field{
		{Key: "propose", Value: frontmatter.String(string(p.Act))},
		{Key: "slug", Value: frontmatter.String(string(p.Slug))},
		{Key: "base", Value: frontmatter.String(p.Base)},
	}
	if p.Version != "" {
		fields = append(fields, frontmatter.Field{Key: "version", Value: frontmatter.String(p.Version)})
	}
	if p.Why != "" {
		fields = append(fields, frontmatter.Field{Key: "why", Value: frontmatter.String(p.Why)})
	}
	if p.Vouch {
		fields = append(fields, frontmatter.Field{Key: "vouch", Value: frontmatter.Truth(true)})
	}
	text, err := frontmatter.Render(fields, p.Text)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrForm, err)
	case len(text) > MaxText:
		return "", fmt.Errorf("%w: longer than %d bytes", ErrForm, MaxText)
	}
	return text, nil
}
