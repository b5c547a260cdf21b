package remember

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/nips/nipae"
	"engramd/nips/unit"
)

// ErrReserved is a slug at which only programs keep what is theirs.
var ErrReserved = errors.New("the slug is reserved")

var reserved = []string{"mem/sys/", "mem/proposals/", "mem/proposals-answers/"}

// Reserved reports whether a slug is a program's own matter: ordinary tools do
// not write there, and lists leave it out.
func Reserved(s nipae.Slug) bool {
	return slices.ContainsFunc(reserved, func(r string) bool { return strings.HasPrefix(string(s), r) })
}

// ClaimError is a text that must be written as it stands, and says more of
// itself than it may.
type ClaimError struct {
	Keys []string // of the front matter
	// CopiedFrom is the external memory whose words the text has, "" if it is
	// something else.
	CopiedFrom string
}

// Error names the keys.
func (e *ClaimError) Error() string {
	if e.CopiedFrom != "" {
		return fmt.Sprintf("the words are those of %s, which is external, and the text does not say trust: external", e.CopiedFrom)
	}
	return fmt.Sprintf("the text claims another %s than the memory has: it says where a text comes from, and is not the writer's to choose", strings.Join(e.Keys, ", "))
}

// Copied finds the external memory that a text was taken from.
type Copied func(text string) (slug string, ok bool)

// Claims judges a text that is to replace old ("" for none) byte for byte. The
// error is a *ClaimError.
func Claims(old, text string, copied Copied) error {
	d := unit.Parse(text)
	if keys := unit.Claims(d, headOf(old)); len(keys) > 0 {
		return &ClaimError{Keys: keys}
	}
	if copied != nil && d.Trust() > unit.External {
		if from, ok := copied(text); ok {
			return &ClaimError{Keys: []string{"trust"}, CopiedFrom: from}
		}
	}
	return nil
}

func headOf(old string) *unit.Doc {
	if old == "" {
		return nil
	}
	d := unit.Parse(old)
	return &d
}

// Draft is what somebody wants remembered.
type Draft struct {
	// Text is a body, or a text with front matter of its own; "" leaves the body
	// as it is, for who changes fields only.
	Text string
	// Whole says that Text is all of it: without front matter the memory has no
	// fields. Otherwise it keeps those that it has.
	Whole  bool
	Fields Fields
	// arrived are the words that are new, if Text has others too.
	arrived []string
}

// composed is a text that is to be written.
type composed struct {
	text string
	from string // the external memory that it was taken from
}

// compose makes the text that is to replace old ("" for none). Errors are
// client.ErrEmpty, ErrField, unit.ErrHead, unit.ErrValue, and *ClaimError for
// the core.
func (w *Writer) compose(slug nipae.Slug, old string, in Draft) (composed, error) {
	head, d := headOf(old), unit.Parse(in.Text)
	if in.Text == "" && (in.Fields.None() || head == nil) {
		return composed{}, client.ErrEmpty
	}
	changes, err := in.Fields.changes(slug, fieldsOf(head, d))
	if err != nil {
		return composed{}, err
	}
	if slug.IsCore() {
		return composed{text: in.Text}, Claims(old, in.Text, nil)
	}
	switch {
	case in.Text == "":
		d = *head
	case !in.Whole && !d.HasHead() && head != nil:
		d = unit.Parse(head.WithBody(in.Text))
	}
	text, err := d.Edit(changes...)
	if err != nil {
		return composed{}, err
	}
	most, from := unit.Observed, ""
	if head != nil && unit.Parse(text).Body() == head.Body() {
		most = unit.Told // nobody's words change: the head's trust stays
	} else {
		from = w.copiedFrom(append(in.arrived, d.Body())...)
	}
	if from != "" {
		most = unit.External
	}
	text, err = w.stamped(unit.Parse(text), head, most)
	return composed{text: text, from: from}, err
}

// fieldsOf returns the text whose fields a draft changes: the head, unless the
// draft has front matter of its own.
func fieldsOf(head *unit.Doc, d unit.Doc) unit.Doc {
	if head != nil && !d.HasHead() {
		return *head
	}
	return d
}

// stamped stamps a text; one that says the same as its head is that, byte for
// byte.
func (w *Writer) stamped(d unit.Doc, head *unit.Doc, most unit.Trust) (string, error) {
	text, err := unit.Stamped(d, head, unit.Stamp{Now: w.now(), Source: w.Source, Session: w.Session, Most: most})
	if err != nil || head == nil {
		return text, err
	}
	new, err1 := unstamped(unit.Parse(text))
	old, err2 := unstamped(*head)
	if err1 == nil && err2 == nil && new == old && unit.Parse(text).Trust() == head.Trust() {
		return head.Text(), nil
	}
	return text, nil
}

// unstamped returns a text without the fields that every writing sets.
func unstamped(d unit.Doc) (string, error) {
	return d.Edit(unit.Remove("created"), unit.Remove("source"), unit.Remove("session"), unit.Remove("consolidated"), unit.Remove("trust"))
}

// copiedFrom returns the external memory that one of the texts was taken from.
func (w *Writer) copiedFrom(texts ...string) string {
	if w.Copied == nil {
		return ""
	}
	for _, text := range texts {
		if from, ok := w.Copied(text); ok {
			return from
		}
	}
	return ""
}

func (w *Writer) now() time.Time {
	if w.Clock == nil {
		return time.Now()
	}
	return w.Clock()
}
