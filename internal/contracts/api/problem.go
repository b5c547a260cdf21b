package api

import (
	"errors"
	"net/http"

	"engramd/internal/bridge"
	"engramd/internal/contracts"
)

// classes are the status and the prefix of every class of refusal. A conflict
// has none: its text is known as it stands.
var classes = map[contracts.Code]struct {
	status int
	prefix string
}{
	contracts.Invalid:         {http.StatusBadRequest, "invalid: "},
	contracts.Unauthenticated: {http.StatusUnauthorized, "auth-required: "},
	contracts.Forbidden:       {http.StatusForbidden, "restricted: "},
	contracts.NotFound:        {http.StatusNotFound, "invalid: "},
	contracts.Conflict:        {http.StatusConflict, ""},
	contracts.TooLarge:        {http.StatusRequestEntityTooLarge, "invalid: "},
	contracts.RateLimited:     {http.StatusTooManyRequests, "rate-limited: "},
	contracts.Unavailable:     {http.StatusServiceUnavailable, "error: "},
}

// problemOf is the answer for an error of the service; what is no refusal stays
// as it is, and the bridge hides it.
func problemOf(err error) error {
	var e *contracts.Error
	if !errors.As(err, &e) {
		return err
	}
	class, known := classes[e.Code]
	if !known {
		return err
	}
	return &bridge.Refusal{Status: class.status, Text: class.prefix + e.Message, Fields: e.Fields}
}
