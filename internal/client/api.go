package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// APIError is a refusal of the contract API in its own words. It is ErrInvalid
// for 400, ErrAuth for 401 and 403, ErrNotFound for 404, ErrConflict for 409,
// ErrTooLarge for 413, else ErrRefused.
type APIError struct {
	Status  int
	Message string            // printable, cut
	Fields  map[string]string // of 400: what is wrong with which; printable
}

// Error returns the message with the fields.
func (e *APIError) Error() string {
	text := e.Message
	if text == "" {
		text = "refused without a reason"
	}
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		text += "; " + name + ": " + e.Fields[name]
	}
	return fmt.Sprintf("%s (HTTP status %d)", text, e.Status)
}

// Is makes it the error of its status.
func (e *APIError) Is(target error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return target == ErrInvalid
	case http.StatusUnauthorized, http.StatusForbidden:
		return target == ErrAuth
	case http.StatusNotFound:
		return target == ErrNotFound
	case http.StatusConflict:
		return target == ErrConflict
	case http.StatusRequestEntityTooLarge:
		return target == ErrTooLarge
	}
	return target == ErrRefused
}

// API makes one call of a relay's HTTP API. What is answered is decoded into
// out. A refusal is an *APIError; what is no answer of an API is ErrNoAPI.
func (h *HTTP) API(ctx context.Context, t Target, call Call, out any) error {
	answer, err := h.Call(ctx, t, call)
	if err != nil {
		return err
	}
	if answer.Kind != jsonType || answer.Status < 200 || answer.Status >= 300 && answer.Status < 400 || answer.Status == http.StatusMethodNotAllowed {
		return fmt.Errorf("%w (HTTP status %d)", ErrNoAPI, answer.Status)
	}
	if answer.Status >= 400 {
		return apiErrorOf(answer.Status, answer.Text)
	}
	if err := json.Unmarshal(answer.Text, out); err != nil {
		return fmt.Errorf("%w: an answer over HTTP is not of the contract API", ErrMisbehaved)
	}
	return nil
}

func apiErrorOf(status int, text []byte) error {
	var body struct {
		Error   json.RawMessage   `json:"error"`
		Message string            `json:"message"`
		Detail  string            `json:"detail"`
		Fields  map[string]string `json:"fields"`
	}
	if json.Unmarshal(text, &body) != nil {
		return fmt.Errorf("%w (HTTP status %d)", ErrNoAPI, status)
	}
	e := &APIError{Status: status, Fields: map[string]string{}}
	var said string
	if json.Unmarshal(body.Error, &said) != nil {
		said = ""
	}
	for _, text := range []string{said, body.Message, body.Detail} {
		if text != "" {
			e.Message = Printable(text)
			break
		}
	}
	for name, text := range body.Fields {
		if len(e.Fields) < 20 {
			e.Fields[Printable(name)] = Printable(text)
		}
	}
	return e
}
