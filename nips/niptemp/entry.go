package niptemp

import (
	"net/url"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// KindEntry is the kind of contract memory entries: addressable, d = contract
// id, so a relay keeps each author's latest per contract as head.
const KindEntry = 30090

// maxContractID is the length in bytes of the longest contract id.
const maxContractID = 128

// VisibilityShared is the one visibility an entry on a relay may have.
const VisibilityShared = "shared"

// entryTypes are the values of an entry's t tag.
var entryTypes = [...]string{"message", "revision", "deliverable", "note", "attachment"}

// EntryTypes returns the values that the t tag of an entry may have.
func EntryTypes() []string { return slices.Clone(entryTypes[:]) }

// IsSealed reports whether ev is an encrypted entry: kind 30090 with a NIP-44
// v2 payload as content. Only its parties may read it.
func IsSealed(ev *nostr.Event) bool {
	return ev.Kind == KindEntry && nipae.CheckPayload(ev.Content) == nil
}

// CheckEntry judges a kind-30090 event by itself (NIP-TEMP, "Entry"): its tags,
// and its content, which is a NIP-44 payload or a JSON object. The contract's
// state is another matter; see State.CheckEntry. Errors are "invalid".
//
// Fields of the object and tags that NIP-TEMP does not name have no effect.
func CheckEntry(ev *nostr.Event) error {
	if ev.Kind != KindEntry {
		return invalid("kind %d is not a contract entry", ev.Kind)
	}
	contract, err := contractID(ev)
	if err != nil {
		return err
	}
	entryType, err := oneTag(ev.Tags, "t")
	if err != nil {
		return err
	}
	if !slices.Contains(entryTypes[:], entryType) {
		return invalid("the t tag of a contract entry must be one of %s", strings.Join(entryTypes[:], ", "))
	}
	if _, err := counterparty(ev); err != nil {
		return err
	}
	entryID, err := checkOptionalTags(ev.Tags, contract)
	if err != nil {
		return err
	}
	if nipae.CheckPayload(ev.Content) == nil {
		return nil
	}
	return checkEntryContent(ev.Content, contract, entryType, entryID)
}

// checkOptionalTags judges the tags an entry may have, and returns the value
// of agentry:entry, empty if there is none.
func checkOptionalTags(tags nostr.Tags, contract string) (entryID string, err error) {
	for _, name := range [...]string{"agentry:contract", "agentry:entry", "agentry:author"} {
		value, n := findTag(tags, name)
		switch {
		case n == 0:
			continue
		case n > 1 || value == "":
			return "", invalid("a contract entry may have one %s tag, with a value", name)
		case name == "agentry:contract" && value != contract:
			return "", invalid("the agentry:contract tag differs from the d tag")
		case name == "agentry:entry":
			entryID = value
		}
	}
	for _, tag := range tags {
		if len(tag) > 0 && tag[0] == "r" && (len(tag) < 2 || !absoluteURL(tag[1])) {
			return "", invalid("an r tag of a contract entry must hold an absolute URL")
		}
	}
	return entryID, nil
}

// checkEntryContent judges the JSON object of an entry that is not sealed.
func checkEntryContent(content, contract, entryType, entryID string) error {
	obj, err := parseObject(content)
	if err != nil {
		return err
	}
	// Visibility comes first: whoever sends a private entry by mistake must
	// hear of that, whatever else is wrong with it.
	visibility, ok, err := obj.text("visibility")
	switch {
	case err != nil:
		return err
	case visibility == "poster_only" || visibility == "worker_only":
		return invalid("private entries are not published")
	case ok && visibility != VisibilityShared:
		return invalid("visibility may only be %q", VisibilityShared)
	}
	if got, _, err := obj.text("type"); err != nil {
		return err
	} else if got != entryType {
		return invalid("content field %q differs from the t tag", "type")
	}
	if text, _, err := obj.text("content"); err != nil {
		return err
	} else if text == "" {
		return invalid("content field %q must be a non-empty string", "content")
	}
	if id, ok, err := obj.text("contract_id"); err != nil {
		return err
	} else if ok && id != contract {
		return invalid("content field %q differs from the d tag", "contract_id")
	}
	if id, ok, err := obj.text("entry_id"); err != nil {
		return err
	} else if ok && entryID != "" && id != entryID {
		return invalid("content field %q differs from the agentry:entry tag", "entry_id")
	}
	if _, _, err := obj.text("author_agent_id"); err != nil {
		return err
	}
	attachments, err := obj.texts("attachments")
	if err != nil {
		return err
	}
	for _, a := range attachments {
		if !webURL(a) {
			return invalid("content field %q must hold absolute http or https URLs", "attachments")
		}
	}
	return nil
}

// CheckOpened judges the text of a sealed entry, whose event CheckEntry took: it
// is the JSON object of an entry, of the event's type, contract and entry. With
// ids it has to name the latter two. Errors are "invalid".
func CheckOpened(ev *nostr.Event, text string, ids bool) error {
	entryType, _ := findTag(ev.Tags, "t")
	entryID, _ := findTag(ev.Tags, "agentry:entry")
	if err := checkEntryContent(text, ev.Tags.GetD(), entryType, entryID); err != nil || !ids {
		return err
	}
	obj, err := parseObject(text)
	for _, name := range [...]string{"contract_id", "entry_id"} {
		if value, _, fault := obj.text(name); err != nil || fault != nil || value == "" {
			return invalid("what is sealed must have a content field %q", name)
		}
	}
	return nil
}

// absoluteURL reports whether s is a URL with a scheme and something after it.
func absoluteURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && (u.Host != "" || u.Opaque != "" || u.Path != "" || u.RawQuery != "")
}

// webURL reports whether s is an absolute http or https URL.
func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
