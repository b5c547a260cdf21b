package proposals

import (
	"time"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// MaxWord is the longest text that counts before it is accepted, in characters.
const MaxWord = 1000

// Word is what a proposal of the owner's says of a memory. Without a text the memory is
// not told any more.
type Word struct {
	Text     string // without front matter
	External bool   // it corrects somebody else's words, and they stay that
}

// Newest returns the newest of some proposals for each slug.
func Newest(all []Proposal) map[nipae.Slug]Proposal {
	newest := map[nipae.Slug]Proposal{}
	for _, p := range all {
		if q, ok := newest[p.Slug]; !ok || newestFirst(Item{Proposal: p}, Item{Proposal: q}) < 0 {
			newest[p.Slug] = p
		}
	}
	return newest
}

// Says returns what a proposal of the owner's says of a memory before the agent has
// answered, by the text that is there. It says nothing if it was made for another text,
// is longer than MaxWord, brings a secret or another agent's words, or has no text of its
// own: a version to restore is at relays.
func (p Proposal) Says(head string) (w Word, ok bool) {
	if p.Origin != nil || client.Hash(head) != p.Base {
		return w, false
	}
	switch p.Act {
	case Archive, Delete:
		return w, true
	case Write, Edit:
	default:
		return w, false
	}
	if p.Text == "" || utf8.RuneCountInString(p.Text) > MaxWord || secrets.CheckChange(head, p.Text) != nil {
		return w, false
	}
	w.Text = write.Body(p.Slug, p.Text)
	if !p.Slug.IsCore() {
		text, err := Item{Proposal: p, FromOwner: true}.composed(p.Slug, head, p.Text, "", time.Unix(p.CreatedAt, 0))
		if err != nil {
			return w, false
		}
		was, is := frontmatter.Parse(head), frontmatter.Parse(text)
		if was.Fields().State == frontmatter.Active && is.Fields().State != frontmatter.Active {
			return Word{}, true
		}
		w.External = is.Trust() == frontmatter.External
		if w.External && was.Trust() != frontmatter.External {
			return Word{}, false // nobody is told that unasked
		}
	}
	if w.Text == "" || w.Text == write.Body(p.Slug, head) {
		return Word{}, false // it changes nothing that is told
	}
	return w, true
}
