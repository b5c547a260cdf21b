package write

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// ErrReserved is a slug at which only programs keep what is theirs.
var ErrReserved = errors.New("the slug is reserved")

const (
	memPrefix      = "mem/"
	journalPrefix  = "mem/journal/"
	projectsPrefix = "mem/projects/"
)

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

// from returns the external memory that one of the texts was taken from.
func (c Copied) from(texts ...string) string {
	if c == nil {
		return ""
	}
	for _, text := range texts {
		if from, ok := c(text); ok {
			return from
		}
	}
	return ""
}

// Claims judges a text that is to replace old ("" for none) byte for byte. The
// error is a *ClaimError.
func Claims(old, text string, copied Copied) error {
	head, d := headOf(old), frontmatter.Parse(text)
	if keys := frontmatter.Claims(d, head); len(keys) > 0 {
		return &ClaimError{Keys: keys}
	}
	if d.Trust() > frontmatter.External {
		if from := copied.from(arrived(d, head)...); from != "" {
			return &ClaimError{Keys: []string{"trust"}, CopiedFrom: from}
		}
	}
	return nil
}

// arrived returns the words of a text that its head has not: its body, what
// stands for it in lists, and what an intention tells the agent to do.
func arrived(d frontmatter.Doc, head *frontmatter.Doc) []string {
	var words []string
	was := frontmatter.Doc{}
	if head != nil {
		was = *head
	}
	if d.Body() != was.Body() {
		words = append(words, d.Body())
	}
	f, before := d.Fields(), was.Fields()
	for _, pair := range [][2]string{{f.Description, before.Description}, {f.Title, before.Title}, {f.Trigger, before.Trigger}, {f.Action, before.Action}} {
		if pair[0] != pair[1] {
			words = append(words, pair[0])
		}
	}
	return words
}

func headOf(old string) *frontmatter.Doc {
	if old == "" {
		return nil
	}
	d := frontmatter.Parse(old)
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
// client.ErrEmpty, ErrField, frontmatter.ErrHead, frontmatter.ErrValue, and *ClaimError for
// the core.
func (w *Writer) compose(slug nipae.Slug, old string, in Draft) (composed, error) {
	head, d := headOf(old), frontmatter.Parse(in.Text)
	if in.Text == "" && (in.Fields.None() || head == nil) {
		return composed{}, client.ErrEmpty
	}
	changes, err := in.Fields.changes(slug, fieldsOf(head, d))
	if err != nil {
		return composed{}, err
	}
	if slug.IsCore() {
		return composed{text: in.Text, from: w.Copied.from(append(in.arrived, in.Text)...)}, Claims(old, in.Text, nil)
	}
	switch {
	case in.Text == "":
		d = *head
	case !in.Whole && !d.HasHead() && head != nil:
		d = frontmatter.Parse(head.WithBody(in.Text))
	}
	text, err := d.Edit(changes...)
	if err != nil {
		return composed{}, err
	}
	d = frontmatter.Parse(text)
	most, from := frontmatter.Observed, w.Copied.from(append(in.arrived, arrived(d, head)...)...)
	switch {
	case from != "":
		most = frontmatter.External
	case head != nil && d.Body() == head.Body():
		most = frontmatter.Told // nobody's words change: the head's trust stays
	}
	text, err = w.placed(slug, d).stamped(d, head, most)
	return composed{text: text, from: from}, err
}

// fieldsOf returns the text whose fields a draft changes: the head, unless the
// draft has front matter of its own.
func fieldsOf(head *frontmatter.Doc, d frontmatter.Doc) frontmatter.Doc {
	if head != nil && !d.HasHead() {
		return *head
	}
	return d
}

// stamped stamps a text; one that says the same as its head is that, byte for
// byte. Most is Told where nobody's words change.
func (w *Writer) stamped(d frontmatter.Doc, head *frontmatter.Doc, most frontmatter.Trust) (string, error) {
	text, err := frontmatter.Stamped(d, head, w.stamp(head, most))
	if err == nil && head != nil && sameUnit(text, head.Text()) {
		return head.Text(), nil
	}
	return text, err
}

// placed returns the writer of a new text at a slug: an episode belongs to the
// project in which it is written. A slug that was chosen for anything else says
// itself whose it is: what is remembered of people is every project's.
func (w *Writer) placed(slug nipae.Slug, d frontmatter.Doc) *Writer {
	episode := d.Fields().Type == frontmatter.Episodic || strings.HasPrefix(string(slug), journalPrefix)
	if w.Project == "" || episode && !strings.HasPrefix(string(slug), projectsPrefix) {
		return w
	}
	by := *w
	by.Project = ""
	return &by
}

// stamp is what the writer says of a text. Where nobody's words change, they are
// still from where they were: an edge or a tag makes no episode one of another
// session. Who writes in no session takes none away.
func (w *Writer) stamp(head *frontmatter.Doc, most frontmatter.Trust) frontmatter.Stamp {
	s := frontmatter.Stamp{Now: timeOf(w.Clock), Source: w.Source, Session: w.Session, Project: w.Project, Most: most}
	if most != frontmatter.Told {
		s.AfterReading = w.Read
	}
	if head == nil {
		return s
	}
	was := head.Fields()
	s.Project = was.Project
	if most == frontmatter.Told && was.Source != "" {
		s.Source, s.Session = was.Source, was.Session
	}
	if s.Session == "" {
		s.Session = was.Session
	}
	return s
}

// unstamped returns a text without the fields that every writing sets.
func unstamped(d frontmatter.Doc) (string, error) {
	return d.Edit(frontmatter.Remove("created"), frontmatter.Remove("source"), frontmatter.Remove("session"), frontmatter.Remove("after_reading"), frontmatter.Remove("consolidated"), frontmatter.Remove("trust"), frontmatter.Remove("expires"))
}

// timeOf reads a clock, that of the system where there is none.
func timeOf(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
