package proposals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
)

// The words of an answer.
const (
	accepted = "accepted"
	rejected = "rejected"
)

// Answer is what an agent said to a proposal, at AnswerPrefix and its ID.
type Answer struct {
	Proposal string // the event id of what was answered: another head has no answer yet
	Accepted bool
	Event    string // of what was written, if it was accepted
	Hash     string // of the text that was written; "" for a removal
	Reason   string // why it was rejected, at most MaxWhy bytes
	At       int64  // when it was answered, Unix seconds; of its event
}

var answerKeys = []string{"answer", "proposal", "event", "hash"}

// ParseAnswer reads the text of an answer. The error is ErrForm.
func ParseAnswer(text string) (Answer, error) {
	if len(text) > MaxText {
		return Answer{}, fmt.Errorf("%w: the answer is longer than %d bytes", ErrForm, MaxText)
	}
	d := frontmatter.Parse(text)
	if err := each(d, answerKeys); err != nil {
		return Answer{}, err
	}
	word := func(key string) string {
		v, _ := d.Value(key)
		s, _ := v.Scalar()
		return s
	}
	a := Answer{Proposal: word("proposal"), Accepted: word("answer") == accepted, Event: word("event"), Hash: word("hash"), Reason: d.Body()}
	if !a.Accepted && word("answer") != rejected {
		return Answer{}, fmt.Errorf("%w: the answer is neither %s nor %s", ErrForm, accepted, rejected)
	}
	return a, a.check()
}

func (a Answer) check() error {
	switch {
	case !isHexPart(a.Proposal, 64):
		return fmt.Errorf("%w: the answer names no proposal", ErrForm)
	case a.Accepted != (a.Event != ""), a.Event != "" && !isHexPart(a.Event, 64):
		return fmt.Errorf("%w: an answer names what was written, if it was accepted", ErrForm)
	case a.Hash != "" && (!a.Accepted || !isHexPart(a.Hash, 64)):
		return fmt.Errorf("%w: the answer names no text by its hash", ErrForm)
	case len(a.Reason) > MaxWhy || !utf8.ValidString(a.Reason):
		return fmt.Errorf("%w: the reason is longer than %d bytes, or no text", ErrForm, MaxWhy)
	}
	return nil
}

// Render returns the text of an answer, which ParseAnswer reads. The error is
// ErrForm.
func (a Answer) Render() (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	word := rejected
	if a.Accepted {
		word = accepted
	}
	fields := []frontmatter.Field{{Key: "answer", Value: frontmatter.String(word)}, {Key: "proposal", Value: frontmatter.String(a.Proposal)}}
	if a.Event != "" {
		fields = append(fields, frontmatter.Field{Key: "event", Value: frontmatter.String(a.Event)})
	}
	if a.Hash != "" {
		fields = append(fields, frontmatter.Field{Key: "hash", Value: frontmatter.String(a.Hash)})
	}
	text, err := frontmatter.Render(fields, a.Reason)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrForm, err)
	}
	return text, nil
}

// originKey holds where a text that another agent signed is from, and what it was
// when it was accepted: the address (d) of its event, the event's time in Unix
// seconds, and a hash of the text. By that a later version is known for one.
const originKey = "origin"

// stamped are the fields that accepting sets.
var stamped = []string{"created", "source", "session", "after_reading", "consolidated", "trust", originKey}

// marked returns the text of an origin as it is kept, with where it is from.
func (i Item) marked(o Opened) (string, error) {
	d, err := i.plain(frontmatter.Parse(o.Text))
	if err != nil {
		return "", err
	}
	return d.Edit(frontmatter.Set(originKey, frontmatter.String(fmt.Sprintf("%s %d %s", o.D, o.CreatedAt, essence(d)))))
}

// essence is a hash of a text without what accepting stamps.
func essence(d frontmatter.Doc) string {
	sum := sha256.Sum256([]byte(unstamped(d.Text())))
	return hex.EncodeToString(sum[:])
}

// corrects reports whether what was opened is a later version of a text that is kept,
// by the same author and at the same address, and nothing was changed in that here.
func (o Opened) corrects(kept string) bool {
	d := frontmatter.Parse(kept)
	v, _ := d.Value(originKey)
	said, _ := v.Scalar()
	parts := strings.Fields(said)
	if o.D == "" || len(parts) != 3 || d.Fields().Source != o.Source || parts[0] != o.D {
		return false
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	return err == nil && at < o.CreatedAt && parts[2] == essence(d)
}

// Corrects reports whether accepting a proposal would put a later version, which the
// same agent signed, in the place of what was taken from that agent before. It is
// never done unasked. Errors are those of Accept.
func (b *Box) Corrects(ctx context.Context, item Item) (bool, error) {
	slug, err := item.target()
	if err != nil || item.Origin == nil || item.Act != Write || item.Base != memory.BaseNone {
		return false, err
	}
	opened, err := b.opened(ctx, item)
	if err != nil {
		return false, err
	}
	head, _, err := b.o.Memory.Get(ctx, slug)
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone) {
		return false, nil
	}
	return err == nil && opened.corrects(head.Text) && !item.same(slug, head.Text, opened.Text, opened.Source), err
}
