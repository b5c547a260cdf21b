package proposals

import (
	"time"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// MaxWord is the longest text that counts before it is accepted, in characters.
const MaxWord = 1000

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
// answered, by the text that is there: the zero Word for nothing. It says nothing if it
// was made for another text, is longer than MaxWord, changes no word that is told, or
// brings a secret or another agent's words, and of a version to restore, which is at relays.
func (p Proposal) Says(head string) (none answer.Word) {
	w := answer.Word{ID: p.EventID, Base: p.Base}
	switch {
	case p.Origin != nil, p.Act == Restore, client.Hash(head) != p.Base:
		return none
	case p.Act == Archive, p.Act == Delete:
		return w
	case utf8.RuneCountInString(p.Text) > MaxWord, secrets.CheckChange(head, p.Text) != nil:
		return none
	}
	body := write.Body(p.Slug, p.Text)
	if !p.Slug.IsCore() {
		text, err := Item{Proposal: p, FromOwner: true}.composed(p.Slug, head, p.Text, "", time.Unix(p.CreatedAt, 0))
		was, is := frontmatter.Parse(head), frontmatter.Parse(text)
		w.External = is.Trust() == frontmatter.External
		switch {
		case err != nil, w.External && was.Trust() != frontmatter.External: // nobody is told that unasked
			return none
		case was.Fields().State == frontmatter.Active && is.Fields().State != frontmatter.Active:
			return w // it archives
		}
	}
	if body == "" || body == write.Body(p.Slug, head) {
		return none
	}
	w.Text = body
	return w
}
