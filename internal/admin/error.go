package admin

import (
	"errors"

	"engramd/nips/nip01"
)

// Invalid says that a call cannot be understood, or names what is not there.
func Invalid(text string) error { return &nip01.Refusal{Prefix: nip01.PrefixInvalid, Text: text} }

// Restricted says that a call is not for a managing key to make.
func Restricted(text string) error { return &nip01.Refusal{Prefix: nip01.PrefixRestricted, Text: text} }

// errFailed hides what went wrong; the log has it.
var errFailed = nip01.Refuse(nip01.PrefixError, "the relay could not carry out the call; nothing was changed")

// outcome is how metrics and the audit table call an error.
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
