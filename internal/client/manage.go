package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// managementType is the Content-Type of calls of NIP-86.
const managementType = "application/nostr+json+rpc"

// ErrNoManagement means that a relay does not answer calls of NIP-86.
var ErrNoManagement = errors.New("the relay has no management API (NIP-86)")

// Manage makes one call of the management API (NIP-86) of the client's relay,
// of which it must have exactly one: what is done to one is not done to
// another. It is signed, its parameters with it (NIP-98), and returns the JSON
// of the result.
//
// A refusal is an *APIError: ErrInvalid, ErrAuth when the key does not manage
// the relay or may not have this changed, else ErrRefused. ErrNoManagement is
// for a relay without the API.
func (c *Client) Manage(ctx context.Context, method string, params ...any) (result json.RawMessage, err error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	targets := c.Targets()
	if len(targets) != 1 {
		return nil, fmt.Errorf("%w: management is of one relay, and %d are named", ErrInvalid, len(targets))
	}
	if params == nil {
		params = []any{}
	}
	call := Call{Method: http.MethodPost, Kind: managementType, Body: struct {
		Method string `json:"method"`
		Params []any  `json:"params"`
	}{method, params}}
	answer, err := c.HTTP().Call(ctx, targets[0], call)
	if err == nil {
		result, err = managed(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Printable(targets[0].URL), err)
	}
	return result, nil
}

// managed reads {"result": …} or {"error": "…"}, by whatever Content-Type it
// comes.
func managed(answer Reply) (json.RawMessage, error) {
	none := fmt.Errorf("%w (HTTP status %d)", ErrNoManagement, answer.Status)
	var body struct {
		Result json.RawMessage `json:"result"`
		Error  *string         `json:"error"`
	}
	if json.Unmarshal(answer.Text, &body) != nil {
		return nil, none
	}
	refused := body.Error != nil && *body.Error != ""
	switch answer.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusNotImplemented, http.StatusUpgradeRequired:
		return nil, none
	}
	switch {
	case refused:
		return nil, &APIError{Status: managedStatus(answer.Status, *body.Error), Message: Printable(*body.Error)}
	case answer.Status != http.StatusOK || body.Result == nil:
		return nil, none
	}
	return body.Result, nil
}

// managedStatus returns the status of a refusal, also of a relay that has 200
// for all.
func managedStatus(status int, text string) int {
	if status >= 400 {
		return status
	}
	prefix, _, _ := strings.Cut(text, ":")
	switch prefix {
	case "invalid":
		return http.StatusBadRequest
	case "auth-required":
		return http.StatusUnauthorized
	case "restricted", "blocked":
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}
