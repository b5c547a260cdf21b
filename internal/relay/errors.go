package relay

import (
	"context"
	"errors"
	"strings"

	"engramd/internal/gate"
	"engramd/internal/store"
)

// ErrRestored means that the operator restored a snapshot while an answer was
// read: the rest of it would be of another state.
var ErrRestored = errors.New("the memory was restored meanwhile")

// Refusal says why a request was not served, in the machine-readable form of
// NIP-01: a prefix (auth-required, restricted, blocked, invalid, …) and a text
// that a person can act on.
type Refusal struct {
	Prefix string
	Text   string
}

// Error is "prefix: text", ready for CLOSED.
func (r *Refusal) Error() string { return r.Prefix + ": " + r.Text }

// refusalOf splits a hook's message; one without a prefix is "blocked".
func refusalOf(message string) *Refusal {
	prefix, text, found := strings.Cut(message, ": ")
	if !found || strings.ContainsRune(prefix, ' ') || prefix == "" {
		if message == "" {
			message = "no reason given"
		}
		return &Refusal{Prefix: "blocked", Text: message}
	}
	return &Refusal{Prefix: prefix, Text: text}
}

// ErrorText returns what a client is told about a failure: the class of it,
// never the store's own words, which name files and rows.
func ErrorText(err error) string {
	var refusal *Refusal
	var gated *gate.Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal.Error()
	case errors.As(err, &gated):
		return gated.Error()
	case errors.Is(err, store.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return "error: the query took too long, narrow the filter"
	case errors.Is(err, store.ErrEnded):
		return "error: the relay is busy and this query took more than others; narrow the filter, or ask again later"
	case errors.Is(err, ErrRestored):
		return "error: the memory was restored meanwhile; ask again"
	case errors.Is(err, store.ErrNoSearch):
		return "invalid: this relay was built without search"
	case errors.Is(err, store.ErrFilter):
		return "invalid: the filter asks for more than the store can look up"
	case errors.Is(err, store.ErrClosed), errors.Is(err, context.Canceled):
		return "error: the relay is shutting down"
	default:
		return "error: the relay could not read or write its store"
	}
}
