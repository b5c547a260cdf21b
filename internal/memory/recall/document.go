package recall

import (
	"strings"
	"time"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Document is a memory as the index takes it.
type Document struct {
	Slug        string
	Description string
	Body        string
	Type        frontmatter.Type
	State       frontmatter.State
	Trust       frontmatter.Trust
	Tags, Who   []string
	Session     string
	Project     string    // of the front matter; "" for none: then the slug says it, if anything does
	When        time.Time // of the event, else when it was written
	Created     time.Time
	Salience    float64
	Emotion     [8]float64
	Links       []frontmatter.Relation
}

// maxLinks is how many edges of a unit are followed; a text may hold thousands.
const maxLinks = 64

// Of makes a document of a unit at a slug, whose event is of that time.
func Of(slug string, d frontmatter.Doc, written time.Time) Document {
	f := d.Fields()
	doc := Document{
		Slug: slug, Description: f.Description, Body: d.Body(), Type: f.Type, State: f.State, Trust: f.Trust,
		Tags: f.Tags, Who: f.Who, Session: f.Session, Project: projectOf(f.Project), Created: written, Salience: f.Salience, Emotion: f.Emotion,
	}
	if doc.Description == "" {
		doc.Description = f.Title
	}
	if len(f.WhenDoing) > 0 {
		doc.Description = strings.TrimPrefix(doc.Description+"\n"+strings.Join(f.WhenDoing, "\n"), "\n")
	}
	if !f.Created.IsZero() {
		doc.Created = f.Created.Time
	}
	if doc.When = f.When.Time; f.When.IsZero() {
		doc.When = doc.Created
	}
	links := d.Links()
	doc.Links = links[:min(len(links), maxLinks)]
	return doc
}

// naming is what a slug says in words: its parts, without those that begin with
// a digit, which count or date.
func naming(slug string) string {
	if nipae.Slug(slug).IsCore() {
		return slug
	}
	var words []string
	for part := range strings.SplitSeq(strings.TrimPrefix(slug, "mem/"), "/") {
		for _, w := range strings.FieldsFunc(part, func(r rune) bool { return r == '-' || r == '_' }) {
			if w[0] < '0' || w[0] > '9' {
				words = append(words, w)
			}
		}
	}
	return strings.Join(words, " ")
}
