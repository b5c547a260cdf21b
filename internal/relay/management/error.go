package management

import (
	"errors"

	"engramd/nips/nip01"
)

// Invalid returns the error for a call that cannot be understood, or that names
// something that does not exist.
func Invalid(text string) error { return &nip01.Refusal{Prefix: nip01.PrefixInvalid, Text: text} }

// Restricted returns the error for a call that managing keys may not make.
func Restricted(text string) error { return &nip01.Refusal{Prefix: nip01.PrefixRestricted, Text: text} }

// errFailed hides the cause of a failure, which is in the log.
var errFailed = nip01.Refuse(nip01.PrefixError, "the relay could not carry out the call; nothing was changed")

// outcome returns an error's name in metrics and in the audit table.
func outcome(err error) string {
	var e *nip01.Refusal
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e) && e.Prefix == nip01.PrefixInvalid:
		return "invalid"
	case errors.As(err, &e) && e.Prefix != nip01.PrefixError:
		return "restricted"
	}
	return "error"
}
