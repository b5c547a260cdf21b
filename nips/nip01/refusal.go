// Package nip01 is what NIP-01 says of answers: why something was not done is a
// machine-readable word and a text for a person. Within a program both stay
// apart in a [Refusal]; "word: text" is made where bytes leave, and read only
// where somebody else's text comes in.
package nip01

import (
	"fmt"
	"strings"
)

// Prefixes of NIP-01 and, the first, of NIP-42. Conflict is this relay's own,
// for writes that name the version they build on.
const (
	PrefixAuthRequired = "auth-required" // nothing is proved yet
	PrefixRestricted   = "restricted"    // what is proved does not suffice
	PrefixDuplicate    = "duplicate"
	PrefixInvalid      = "invalid"
	PrefixBlocked      = "blocked"
	PrefixConflict     = "conflict"
	PrefixRateLimited  = "rate-limited"
	PrefixPoW          = "pow"
	PrefixError        = "error"
)

// Refusal says why something was not done. It is an error.
type Refusal struct {
	Prefix string
	Text   string // for a person; names no key, id or content
}

// Refuse makes a Refusal with a formatted text.
func Refuse(prefix, format string, args ...any) *Refusal {
	return &Refusal{prefix, fmt.Sprintf(format, args...)}
}

// Parse reads what khatru's hooks say as one text. A message without a prefix
// is "blocked".
func Parse(message string) *Refusal {
	prefix, text, found := strings.Cut(message, ": ")
	if !found || strings.ContainsRune(prefix, ' ') || prefix == "" {
		if message == "" {
			message = "no reason given"
		}
		return &Refusal{PrefixBlocked, message}
	}
	return &Refusal{prefix, text}
}

// Error is "prefix: text", as OK and CLOSED have it.
func (r *Refusal) Error() string { return r.Prefix + ": " + r.Text }

// Has reports whether r has a prefix. A nil Refusal has none.
func (r *Refusal) Has(prefix string) bool { return r != nil && r.Prefix == prefix }

// Is reports whether target is a Refusal that says the same, for errors.Is.
func (r *Refusal) Is(target error) bool {
	other, ok := target.(*Refusal)
	return ok && r != nil && other != nil && *r == *other
}
