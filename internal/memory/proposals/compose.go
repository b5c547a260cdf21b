package proposals

import (
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// target returns where a proposal is to be written. The error is ErrForbidden.
func (i Item) target() (nipae.Slug, error) {
	switch {
	case i.FromOwner && i.Origin == nil:
		return i.Slug, nil
	case i.FromOwner: // he passes on another agent's words
		if strings.HasPrefix(string(i.Slug), FromPrefix) {
			return i.Slug, nil
		}
		return "", fmt.Errorf("%w: another agent's text is kept below %s, not at %s", ErrForbidden, FromPrefix, i.Slug)
	}
	if i.Act != Write {
		return "", fmt.Errorf("%w: %s of %s", ErrForbidden, i.Act, i.Slug)
	}
	// The proposer knows its own key, and not what it is called here.
	for _, name := range []string{i.Name, NameOf(i.Proposer)} {
		if rest, ok := strings.CutPrefix(string(i.Slug), FromPrefix+name+"/"); ok {
			return nipae.ParseSlug(FromPrefix + i.Name + "/" + rest)
		}
	}
	return "", fmt.Errorf("%w: others write below %s%s/ or %s%s/, not at %s", ErrForbidden, FromPrefix, i.Name, FromPrefix, NameOf(i.Proposer), i.Slug)
}

// Target returns the slug that accepting writes. The error is ErrForbidden.
func (i Item) Target() (nipae.Slug, error) { return i.target() }

// source is what is stamped.
func (i Item) source() string {
	npub, err := nip19.EncodePublicKey(i.Proposer)
	if err != nil {
		npub = i.Proposer
	}
	if i.FromOwner {
		return "owner:" + npub
	}
	return "agent:" + npub
}

// dropped are the fields that others' texts have not: they would decide over the
// agent's own memory, or have it do something.
var dropped = []string{"supersedes", "pin", "path", "due", "every", "until", "snoozed", "trigger", "where", "action", "state",
	"propose", "slug", "base", "version", "why", "vouch", originKey}

// plain returns a text of others without the fields that it has not. What an agent
// has signed keeps its state: what holds no more there is not made to hold here.
func (i Item) plain(d frontmatter.Doc) (frontmatter.Doc, error) {
	changes := make([]frontmatter.Change, 0, len(dropped)+1)
	for _, key := range dropped {
		if i.Origin == nil || key != "state" && key != originKey {
			changes = append(changes, frontmatter.Remove(key))
		}
	}
	if d.Fields().Type == frontmatter.Prospective || d.Fields().Type == frontmatter.Narrative {
		changes = append(changes, frontmatter.Remove("type"))
	}
	text, err := d.Edit(changes...)
	return frontmatter.Parse(text), err
}

// composed returns the text that a proposed one becomes in the place of old (""
// for none).
func (i Item) composed(slug nipae.Slug, old, text, source string, now time.Time) (string, error) {
	if slug.IsCore() {
		return text, nil // it has no front matter
	}
	d, stamp := frontmatter.Parse(text), frontmatter.Stamp{Now: now, Source: source}
	var head *frontmatter.Doc
	if old != "" {
		was := frontmatter.Parse(old)
		head = &was
	}
	switch {
	case !i.FromOwner || i.Origin != nil:
		plain, err := i.plain(d)
		if err != nil {
			return "", err
		}
		d, stamp.Most = plain, frontmatter.External
	case i.Act == Write || i.Vouch:
		// What the owner calls less than told himself is not raised.
		stamp.Most, stamp.Reset = frontmatter.Told, true
		if _, says := d.Value("trust"); says && i.Act == Write {
			stamp.Most = d.Trust()
		}
	default:
		if stamp.Most = frontmatter.Observed; head != nil {
			stamp.Most = head.Trust()
		}
		if _, says := d.Value("trust"); says {
			stamp.Most = stamp.Most.Lower(d.Trust())
		}
		stamp.Reset = true // to that, and no more
	}
	return frontmatter.Stamped(d, head, stamp)
}

func (i Item) archived(slug nipae.Slug, old string, now time.Time) (string, error) {
	text, err := write.Archive.Of(slug, frontmatter.Parse(old))
	if err != nil || !i.Vouch {
		return text, err
	}
	return i.composed(slug, old, text, i.source(), now)
}

// same reports whether a memory says what a text says, whatever is stamped: that
// is what the proposal has written, in an earlier attempt.
func (i Item) same(slug nipae.Slug, head, text, source string) bool {
	if slug.IsCore() {
		return head == text
	}
	was := frontmatter.Parse(head)
	if was.Fields().Source != source {
		return false
	}
	again, err := i.composed(slug, head, text, source, time.Unix(i.CreatedAt, 0))
	return err == nil && unstamped(again) == unstamped(head)
}

// unstamped returns a text without the fields that accepting sets.
func unstamped(text string) string {
	changes := make([]frontmatter.Change, 0, len(stamped))
	for _, key := range stamped {
		changes = append(changes, frontmatter.Remove(key))
	}
	plain, err := frontmatter.Parse(text).Edit(changes...)
	if err != nil {
		return text
	}
	return plain
}

// done reports whether a head that is not the proposal's base is what accepting it
// makes: then it was written, and not answered.
func (i Item) done(slug nipae.Slug, head client.Entry, text, source string) bool {
	switch i.Act {
	case Delete:
		return head.Tombstone
	case Archive:
		d := frontmatter.Parse(head.Text)
		if i.Vouch {
			return d.Fields().State == frontmatter.Archived && d.Trust() == frontmatter.Told && d.Fields().Source == i.source()
		}
		active, err := write.Unarchive.Of(slug, d)
		return err == nil && d.Fields().State == frontmatter.Archived && client.Hash(active) == i.Base
	case Restore:
		if !i.Vouch {
			return head.Text == text
		}
	}
	return head.Hash != "" && i.same(slug, head.Text, text, source)
}
