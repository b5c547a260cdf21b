package api

import (
	"errors"
	"net/http"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/http"
	"engramd/nips/nip01"
)

// classes holds the status and the prefix of every class of refusal. A conflict
// has no prefix: clients know its text as it is.
var classes = map[contracts.Code]struct {
	status int
	prefix string
}{
	contracts.Invalid:         {http.StatusBadRequest, nip01.PrefixInvalid},
	contracts.Unauthenticated: {http.StatusUnauthorized, nip01.PrefixAuthRequired},
	contracts.Forbidden:       {http.StatusForbidden, nip01.PrefixRestricted},
	contracts.NotFound:        {http.StatusNotFound, nip01.PrefixInvalid},
	contracts.Conflict:        {http.StatusConflict, ""},
	contracts.TooLarge:        {http.StatusRequestEntityTooLarge, nip01.PrefixInvalid},
	contracts.RateLimited:     {http.StatusTooManyRequests, nip01.PrefixRateLimited},
	contracts.Unavailable:     {http.StatusServiceUnavailable, nip01.PrefixError},
}

// problemOf returns the answer to an error of the service. An error that is not
// a refusal stays as it is, and the bridge hides it.
func problemOf(err error) error {
	var e *contracts.Error
	if !errors.As(err, &e) {
		return err
	}
	class, ok := classes[e.Code]
	if !ok {
		return err
	}
	return &relayhttp.Problem{Status: class.status, Why: nip01.Refusal{Prefix: class.prefix, Text: e.Message}, Fields: e.Fields}
}
