package wire

import (
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"
)

// maxKind is the greatest event kind (NIP-01: an integer between 0 and 65535).
const maxKind = 65535

// maxEchoedID bounds what ShapeError.ID repeats of a client's words.
const maxEchoedID = 128

// The seven members of an event, as their places in memberNames.
const (
	memberID = iota
	memberPubKey
	memberCreatedAt
	memberKind
	memberTags
	memberContent
	memberSig
)

var memberNames = [...]string{"id", "pubkey", "created_at", "kind", "tags", "content", "sig"}

// ParseEvent reads one event object (NIP-01), and nothing beside it, in its
// strict shape: every one of the seven members exactly once; id and pubkey 64
// and sig 128 lower-case hex digits; kind 0–65535 and created_at 0–2⁶³-1, both
// in plain digits; tags an array of non-empty arrays of strings, in which a
// tag named d has a second element; valid UTF-8 and no lone surrogate.
// Negative times are refused: NIP-01 counts seconds since 1970, and a filter
// could not name them. Members of other names are dropped, whatever they
// hold, but not when a name comes twice.
//
// Neither id nor signature is verified; see Verify. The error is a *ShapeError.
// The event does not share memory with b. Its strings are parts of one copy of
// b, so whoever keeps one of them for long should clone it.
func ParseEvent(b []byte) (*nostr.Event, error) {
	s := newScanner(b)
	ev, err := s.event()
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, &ShapeError{ID: findID(s.src), Reason: err.Error()}
	}
	return ev, nil
}

// event reads the event object at the present byte.
func (s *scanner) event() (*nostr.Event, error) {
	if s.peek() != '{' {
		return nil, reason("an event must be a JSON object")
	}
	s.pos++
	ev := new(nostr.Event)
	var seen int
	var unknown map[string]struct{}
	for first := true; ; first = false {
		name, ok, err := s.member(first)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if i := slices.Index(memberNames[:], name); i >= 0 {
			if seen&(1<<i) != 0 {
				return nil, duplicate(name)
			}
			seen |= 1 << i
			if err := s.eventMember(ev, i); err != nil {
				return nil, err
			}
			continue
		}
		if _, dup := unknown[name]; dup {
			return nil, duplicate(name)
		}
		if unknown == nil {
			unknown = make(map[string]struct{})
		}
		unknown[name] = struct{}{}
		if err := s.skip(1); err != nil {
			return nil, err
		}
	}
	for i, name := range memberNames {
		if seen&(1<<i) == 0 {
			return nil, reason("member " + quoted(name) + " is missing")
		}
	}
	return s.compacted(ev), nil
}

// compacted returns ev, or a copy of it if what it keeps alive of the text is
// mostly white space and members that were dropped.
func (s *scanner) compacted(ev *nostr.Event) *nostr.Event {
	const small = 4096
	if len(s.src) <= small || len(s.src) <= 4*sizeHint(ev) {
		return ev
	}
	again := newScanner(AppendEvent(nil, ev))
	copied, err := again.event()
	if err != nil {
		return ev
	}
	return copied
}

// eventMember reads the value of a member into ev.
func (s *scanner) eventMember(ev *nostr.Event, member int) (err error) {
	switch member {
	case memberID:
		ev.ID, err = s.hexMember(64)
	case memberPubKey:
		ev.PubKey, err = s.hexMember(64)
	case memberSig:
		ev.Sig, err = s.hexMember(128)
	case memberContent:
		ev.Content, err = s.strMember()
	case memberTags:
		// Its messages name the tags themselves.
		ev.Tags, err = s.tags()
		return err
	case memberCreatedAt:
		var n int64
		n, err = s.integer()
		ev.CreatedAt = nostr.Timestamp(n)
	case memberKind:
		ev.Kind, err = s.kind()
	}
	if err != nil {
		return reason("member " + quoted(memberNames[member]) + ": " + err.Error())
	}
	return nil
}

func (s *scanner) strMember() (string, error) {
	if s.peek() != '"' {
		return "", reason("must be a string")
	}
	return s.str()
}

func (s *scanner) hexMember(digits int) (string, error) {
	v, err := s.strMember()
	if err != nil {
		return "", err
	}
	if !lowerHex(v, digits) {
		return "", reason("must be " + strconv.Itoa(digits) + " lower-case hex digits")
	}
	return v, nil
}

func (s *scanner) kind() (int, error) {
	n, err := s.integer()
	if err != nil {
		return 0, err
	}
	if n > maxKind {
		return 0, reason("must be between 0 and 65535")
	}
	return int(n), nil
}

// tags reads an array of non-empty arrays of strings. The strings of all tags
// share one backing array; the scratch space of ordinary events is on the
// stack.
func (s *scanner) tags() (nostr.Tags, error) {
	var itemSpace [48]string
	var endSpace [24]int
	items, ends := itemSpace[:0], endSpace[:0]
	if s.peek() != '[' {
		return nil, reason(`member "tags": must be an array`)
	}
	s.pos++
	for first := true; ; first = false {
		ok, err := s.element(first)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		start := len(items)
		if items, err = s.tag(items); err != nil {
			return nil, err
		}
		switch n := len(items) - start; {
		case n == 0:
			return nil, reason("a tag must not be empty")
		case n == 1 && items[start] == "d":
			// Else an addressable event's address would be a matter of taste;
			// khatru indexes past the end of such a tag.
			return nil, reason("a d tag must have a value (it may be empty)")
		}
		ends = append(ends, len(items))
	}
	tags, backing := make(nostr.Tags, len(ends)), make([]string, len(items))
	copy(backing, items)
	start := 0
	for i, end := range ends {
		tags[i] = backing[start:end:end]
		start = end
	}
	return tags, nil
}

// ParseTag reads one tag, an array of strings, and nothing beside it, as
// strictly as ParseEvent. The tag does not share memory with b.
func ParseTag(b []byte) (nostr.Tag, error) {
	s := newScanner(b)
	items, err := s.tag(nil)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, &ShapeError{Reason: err.Error()}
	}
	return items, nil
}

// tag appends the strings of the array at the present byte.
func (s *scanner) tag(items []string) ([]string, error) {
	if s.peek() != '[' {
		return items, reason("a tag must be an array")
	}
	s.pos++
	for first := true; ; first = false {
		ok, err := s.element(first)
		if err != nil || !ok {
			return items, err
		}
		if s.peek() != '"' {
			return items, reason("a tag must hold strings only")
		}
		item, err := s.str()
		if err != nil {
			return items, err
		}
		items = append(items, item)
	}
}

// findID looks for an "id" member in an event that was refused, so that the
// refusal can name it. It runs on the way out only, and reads what is there up
// to the first fault of grammar.
func findID(src string) string {
	s := scanner{src: src, unclean: true}
	if s.peek() != '{' {
		return ""
	}
	s.pos++
	for first := true; ; first = false {
		name, ok, err := s.member(first)
		if err != nil || !ok {
			return ""
		}
		if name == "id" && s.peek() == '"' {
			id, err := s.str()
			if err != nil || len(id) > maxEchoedID {
				return ""
			}
			return id
		}
		if s.skip(1) != nil {
			return ""
		}
	}
}

func duplicate(name string) error { return reason("duplicate member " + quoted(name)) }

// quoted wraps a name of the client's for a message, cut to a length that fits
// in one. Escaping is the writer's business.
func quoted(name string) string {
	const most = 64
	if len(name) > most {
		cut := most
		for cut > 0 && name[cut]&0xC0 == 0x80 {
			cut--
		}
		name = name[:cut] + "…"
	}
	return `"` + name + `"`
}
