package nipae

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is the greatest size of a body in bytes, as serialized: what NIP-44
// encrypts in its 2-byte length form.
const MaxBody = 65535

// ErrBody is what every error about a body is.
var ErrBody = errors.New("not an engram body")

// ErrTooLarge is an ErrBody too.
var ErrTooLarge = fmt.Errorf("%w: it is larger than %d bytes", ErrBody, MaxBody)

// Names of the members that NIP-AE defines, compared exactly.
const (
	nameSlug    = "slug"
	nameProfile = "profile"
	nameValue   = "value"
)

// Body is what an engram's content says once decrypted: a slug and its text,
// the profile of core or the value of a memory, or no value, which makes it a
// tombstone (NIP-AE, "Bodies"). Members that NIP-AE does not define are kept as
// they were written and where they stood.
//
// A Body is immutable. The zero Body is none: it has no bytes.
type Body struct {
	slug       Slug
	text       string
	tombstoned bool
	// members is in the order of writing, never changed once made. Slug and
	// text stand in it by name only.
	members []member
}

// member is one member of the object. raw is nil for slug and text.
type member struct {
	name string
	raw  jsontext.Value
}

// textName returns the name of the member that holds the text at a slug.
func textName(s Slug) string {
	if s.IsCore() {
		return nameProfile
	}
	return nameValue
}

// NewProfile returns the body of core with the text.
func NewProfile(text string) Body { return newBody(Core, text, false) }

// NewMemory returns the body of a memory with the text. The slug is one that
// begins with mem/; the error is ErrSlug, or ErrBody for text that is not
// UTF-8. Text too long shows in Bytes.
func NewMemory(s Slug, text string) (Body, error) {
	if err := checkMemorySlug(s); err != nil {
		return Body{}, err
	}
	if !utf8.ValidString(text) {
		return Body{}, fmt.Errorf("%w: the text is not UTF-8", ErrBody)
	}
	return newBody(s, text, false), nil
}

// NewTombstone returns the body that says: nothing is remembered at this slug
// any more. Core has none; the error is ErrSlug.
func NewTombstone(s Slug) (Body, error) {
	if err := checkMemorySlug(s); err != nil {
		return Body{}, err
	}
	return newBody(s, "", true), nil
}

func newBody(s Slug, text string, tombstoned bool) Body {
	return Body{slug: s, text: text, tombstoned: tombstoned,
		members: []member{{name: nameSlug}, {name: textName(s)}}}
}

func checkMemorySlug(s Slug) error {
	if s.IsCore() {
		return fmt.Errorf("%w of a memory: it is core", ErrSlug)
	}
	_, err := ParseSlug(string(s))
	return err
}

// Slug returns the slug that the body names.
func (b Body) Slug() Slug { return b.slug }

// Text returns the profile of core or the value of a memory, and false for a
// tombstone.
func (b Body) Text() (string, bool) { return b.text, !b.tombstoned }

// WithText returns the body with another text and every other member as it
// was; a tombstone comes to life. Text that is not UTF-8, or too long, shows
// in Bytes.
func (b Body) WithText(text string) Body {
	b.text, b.tombstoned = text, false
	return b
}

// WithSlug returns the body at another slug of a memory and every other member
// as it was. The error is ErrSlug if one of both is core, whose text has another
// name.
func (b Body) WithSlug(s Slug) (Body, error) {
	for _, slug := range []Slug{b.slug, s} {
		if err := checkMemorySlug(slug); err != nil {
			return Body{}, err
		}
	}
	b.slug = s
	return b, nil
}

// Tombstoned returns the tombstone of the body, with every other member as it
// was. Core has no tombstone: its Bytes are an error.
func (b Body) Tombstoned() Body {
	b.text, b.tombstoned = "", true
	return b
}

// Bytes returns the body as compact JSON: members in their order, strings with
// the fewest escapes, unknown values as they were written. New bodies have the
// slug first. The error is ErrBody for text that is not UTF-8, for a tombstone
// of core and for the zero Body, and ErrTooLarge for more than MaxBody bytes.
func (b Body) Bytes() ([]byte, error) {
	if len(b.members) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrBody)
	}
	if b.tombstoned && b.slug.IsCore() {
		return nil, fmt.Errorf("%w: core has no tombstone", ErrBody)
	}
	dst := make([]byte, 0, len(b.text)+len(b.slug)+32)
	dst = append(dst, '{')
	var err error
	for i, m := range b.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		// Names were valid when they were parsed.
		if dst, err = jsontext.AppendQuote(dst, m.name); err != nil {
			return nil, fmt.Errorf("%w: a member's name is not UTF-8", ErrBody)
		}
		dst = append(dst, ':')
		switch {
		case m.raw != nil:
			dst = append(dst, m.raw...)
		case m.name == nameSlug:
			dst, err = jsontext.AppendQuote(dst, string(b.slug))
		case b.tombstoned:
			dst = append(dst, "null"...)
		default:
			dst, err = jsontext.AppendQuote(dst, b.text)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the text is not UTF-8", ErrBody)
		}
	}
	dst = append(dst, '}')
	if len(dst) > MaxBody {
		return nil, ErrTooLarge
	}
	return dst, nil
}
