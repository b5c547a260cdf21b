package admin

import "errors"

// Error is an answer that is no result: a prefix of NIP-01 and a text that a
// person can act on. It never repeats what was sent.
type Error struct {
	Prefix string // "invalid", "restricted", "error", …
	Text   string
}

// Error is "prefix: text".
func (e *Error) Error() string { return e.Prefix + ": " + e.Text }

// Invalid says that a call cannot be understood, or names what is not there.
func Invalid(text string) error { return &Error{"invalid", text} }

// Restricted says that a call is not for a managing key to make.
func Restricted(text string) error { return &Error{"restricted", text} }

// errFailed hides what went wrong; the log has it.
var errFailed = &Error{"error", "the relay could not carry out the call; nothing was changed"}

// outcome returns how metrics and the audit table call an error.
func outcome(err error) string {
	var e *Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e) && e.Prefix == "invalid":
		return "invalid"
	case errors.As(err, &e) && e.Prefix != "error":
		return "restricted"
	}
	return "error"
}
