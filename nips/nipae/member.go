package nipae

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Member returns the value of a member that NIP-AE does not define, as it was
// written, and whether there is one. It must not be changed.
func (b Body) Member(name string) (jsontext.Value, bool) {
	for _, m := range b.members {
		if m.name == name && m.raw != nil {
			return m.raw, true
		}
	}
	return nil, false
}

// WithMember returns the body with a member that NIP-AE does not define: in the
// place of the one that has the name, or behind all others. The error is ErrBody
// for a name that NIP-AE defines and for a value that is no valid JSON. A body
// that has grown too large shows in Bytes.
func (b Body) WithMember(name string, value jsontext.Value) (Body, error) {
	if name == nameSlug || name == textName(b.slug) {
		return Body{}, fmt.Errorf("%w: %s is no member to choose", ErrBody, name)
	}
	value = bytes.Clone(value)
	if err := value.Compact(); err != nil || len(b.members) == 0 {
		return Body{}, fmt.Errorf("%w: the value of %s is no valid JSON", ErrBody, name)
	}
	b.members = slices.Clone(b.members)
	if i := b.member(name); i >= 0 {
		b.members[i].raw = value
		return b, nil
	}
	b.members = append(b.members, member{name: name, raw: value})
	return b, nil
}

// WithoutMember returns the body without a member that NIP-AE does not define.
func (b Body) WithoutMember(name string) Body {
	if i := b.member(name); i >= 0 && b.members[i].raw != nil {
		b.members = slices.Delete(slices.Clone(b.members), i, i+1)
	}
	return b
}

func (b Body) member(name string) int {
	return slices.IndexFunc(b.members, func(m member) bool { return m.name == name })
}
