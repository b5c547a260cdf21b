package relay

import (
	"context"
	"errors"

	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// ErrRestored means that the operator restored a snapshot while an answer was
// read: the rest of it would be of another state.
var ErrRestored = errors.New("the memory was restored meanwhile")

// RefusalOf returns what a client is told about an error: a refusal as it is,
// of a failure the class.
func RefusalOf(err error) *nip01.Refusal {
	var refusal *nip01.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return failureOf(err)
}

// failureOf returns what a client is told of a failure, never the store's own
// words, which name files and rows.
func failureOf(err error) *nip01.Refusal {
	switch {
	case errors.Is(err, ErrBehind):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "this relay cannot tell now whether it has everything that was acknowledged; ask again"}
	case errors.Is(err, store.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the query took too long, narrow the filter"}
	case errors.Is(err, store.ErrEnded):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the relay is busy and this query took more than others; narrow the filter, or ask again later"}
	case errors.Is(err, ErrRestored):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the memory was restored meanwhile; ask again"}
	case errors.Is(err, store.ErrMany):
		return &nip01.Refusal{Prefix: nip01.PrefixBlocked, Text: "too many query results"}
	case errors.Is(err, store.ErrNoSearch):
		return &nip01.Refusal{Prefix: nip01.PrefixInvalid, Text: "this relay was built without search"}
	case errors.Is(err, store.ErrFilter):
		return &nip01.Refusal{Prefix: nip01.PrefixInvalid, Text: "the filter asks for more than the store can look up"}
	case errors.Is(err, store.ErrClosed), errors.Is(err, context.Canceled):
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the relay is shutting down"}
	default:
		return &nip01.Refusal{Prefix: nip01.PrefixError, Text: "the relay could not read or write its store"}
	}
}
