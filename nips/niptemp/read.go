package niptemp

import (
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nip01"
	"engramd/nips/nipae"
)

// EntryText is what a kind-30090 event says.
type EntryText struct {
	Contract string // its d tag
	To       string // the pubkey in its p tag
	Type     string // its t tag
	// EntryID is its agentry:entry tag, else the entry_id of its content, "" for
	// neither.
	EntryID string
	// AuthorAgentID is a label: its agentry:author tag, else author_agent_id.
	AuthorAgentID string
	Sealed        bool   // the content is a NIP-44 payload
	Content       string // the text in the content; the payload where Sealed
	Attachments   []string
}

// ReadEntry judges an event as CheckEntry does and returns what it says.
func ReadEntry(ev *nostr.Event) (EntryText, error) {
	if err := CheckEntry(ev); err != nil {
		return EntryText{}, err
	}
	e := EntryText{Contract: ev.Tags.GetD(), Content: ev.Content}
	e.To, _ = findTag(ev.Tags, "p")
	e.Type, _ = findTag(ev.Tags, "t")
	e.EntryID, _ = findTag(ev.Tags, "agentry:entry")
	e.AuthorAgentID, _ = findTag(ev.Tags, "agentry:author")
	if e.Sealed = nipae.CheckPayload(ev.Content) == nil; e.Sealed {
		return e, nil
	}
	obj, err := parseObject(ev.Content)
	if err != nil {
		return EntryText{}, err
	}
	if e.Content, _, err = obj.text("content"); err != nil {
		return EntryText{}, err
	}
	for name, into := range map[string]*string{"entry_id": &e.EntryID, "author_agent_id": &e.AuthorAgentID} {
		if *into != "" {
			continue
		}
		if *into, _, err = obj.text(name); err != nil {
			return EntryText{}, err
		}
	}
	e.Attachments, err = obj.texts("attachments")
	return e, err
}

// StateText is what a kind-30091 event says.
type StateText struct {
	Contract         string // its d tag
	To               string // the pubkey in its p tag, of a decision the poster's
	Worker           string // of a decision about two keys the worker's, else ""
	Terms            Terms  // that an open or an acceptance says
	Status, Previous Status // Previous is empty where it names none
	// The rest are labels.
	PosterAgentID, WorkerAgentID string
	AmountSats                   int64
	Description, Note            string
}

// ReadState judges an event as CheckStateShape does and returns what it says.
func ReadState(ev *nostr.Event) (StateText, error) {
	t, err := parseState(ev)
	if err != nil {
		return StateText{}, err
	}
	obj, err := parseObject(ev.Content)
	if err != nil {
		return StateText{}, err
	}
	s := StateText{Contract: t.Contract, To: t.To, Worker: t.second, Status: t.Status, Previous: t.Previous}
	if t.second == "" && (t.Status == Open || t.Status == Accepted) {
		if s.Terms, err = TermsOf(ev); err != nil {
			return StateText{}, err
		}
	}
	for name, into := range map[string]*string{
		"poster_agent_id": &s.PosterAgentID, "worker_agent_id": &s.WorkerAgentID, "description": &s.Description, "note": &s.Note,
	} {
		// What NIP-TEMP does not name, as a note, is no fault when it is
		// something else.
		if value, err := obj.optionalText(name); err == nil {
			*into = value
		}
	}
	if raw, ok := obj["amount_sats"]; ok {
		if s.AmountSats, err = strconv.ParseInt(string(raw), 10, 64); err != nil {
			return StateText{}, invalid("content field %q must be an integer, 0 or more", "amount_sats")
		}
	}
	return s, nil
}

// Movers reports which parties may move a contract from one status to another:
// neither where there is no such transition.
func Movers(from, to Status) (byPoster, byWorker bool) {
	who := mover(from, to)
	return who&poster != 0, who&worker != 0
}

// Every error of this package is a *nip01.Refusal that is "invalid" or
// "blocked".

func invalid(format string, args ...any) error {
	return nip01.Refuse(nip01.PrefixInvalid, format, args...)
}

func blocked(format string, args ...any) error {
	return nip01.Refuse(nip01.PrefixBlocked, format, args...)
}

// findTag returns how many tags have the name, values or not, and the value of
// the last one, empty if it has none.
func findTag(tags nostr.Tags, name string) (value string, n int) {
	for _, tag := range tags {
		if len(tag) == 0 || tag[0] != name {
			continue
		}
		n++
		value = ""
		if len(tag) > 1 {
			value = tag[1]
		}
	}
	return value, n
}

// oneTag returns the value of the one tag with the name.
func oneTag(tags nostr.Tags, name string) (string, error) {
	value, n := findTag(tags, name)
	if n != 1 {
		return "", invalid("it must have exactly one %s tag, not %d", name, n)
	}
	return value, nil
}

// contractID returns the value of the d tag: 1–128 bytes of printable ASCII
// without spaces.
func contractID(ev *nostr.Event) (string, error) {
	id, err := oneTag(ev.Tags, "d")
	if err != nil {
		return "", err
	}
	if len(id) == 0 || len(id) > maxContractID {
		return "", invalid("a contract id must have 1 to %d bytes", maxContractID)
	}
	for i := 0; i < len(id); i++ {
		if id[i] <= ' ' || id[i] > '~' {
			return "", invalid("a contract id must be printable ASCII without spaces")
		}
	}
	return id, nil
}

// counterparty returns the value of the p tag: 64 lower-case hex digits.
func counterparty(ev *nostr.Event) (string, error) {
	key, err := oneTag(ev.Tags, "p")
	if err != nil {
		return "", err
	}
	if !nostr.IsValid32ByteHex(key) {
		return "", invalid("its p tag must hold 64 lower-case hex digits")
	}
	return key, nil
}

// namedKeys returns the values of one p tag, or of two, in their order.
func namedKeys(ev *nostr.Event) (first, second string, err error) {
	for _, tag := range ev.Tags {
		switch {
		case len(tag) == 0 || tag[0] != "p":
			continue
		case len(tag) < 2 || !nostr.IsValid32ByteHex(tag[1]):
			return "", "", invalid("its p tag must hold 64 lower-case hex digits")
		case first == "":
			first = tag[1]
		case second == "":
			second = tag[1]
		default:
			return "", "", invalid("it must have one p tag, or two for a decision, not more")
		}
	}
	if first == "" {
		return "", "", invalid("it must have exactly one p tag, not 0")
	}
	return first, second, nil
}
