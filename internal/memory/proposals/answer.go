package proposals

import (
	"fmt"
	"unicode/utf8"

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
