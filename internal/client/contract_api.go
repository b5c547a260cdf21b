package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

const (
	contractsPath = "/api/escrow/contracts"
	// apiPage is how many things are asked for at a time.
	apiPage = 500
	// maxContractThings and maxContractPages bound what one relay's API may list
	// in answer to one question, and in how many pages: it makes them as short as
	// it likes.
	maxContractThings = 20_000
	maxContractPages  = 200
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
	names := make([]string, 0, len(e.Fields))
	for name := range e.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
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

// api is one call of a relay's HTTP API. path is escaped; a body that is not
// nil is sent as JSON; what is answered is decoded into out. A refusal is an
// *APIError; what is no answer of an API is ErrNoAPI.
func (c *Client) api(ctx context.Context, t target, method, path string, query url.Values, body, out any) error {
	return c.apiAs(ctx, t, httpCall{method: method, path: path, query: query, body: body}, out)
}

// apiAs is api for a call with more to it.
func (c *Client) apiAs(ctx context.Context, t target, call httpCall, out any) error {
	answer, err := c.httpCall(ctx, t, call)
	if err != nil {
		return err
	}
	if answer.kind != jsonType || answer.status < 200 || answer.status >= 300 && answer.status < 400 || answer.status == http.StatusMethodNotAllowed {
		return fmt.Errorf("%w (HTTP status %d)", ErrNoAPI, answer.status)
	}
	if answer.status >= 400 {
		return apiErrorOf(answer.status, answer.text)
	}
	if err := json.Unmarshal(answer.text, out); err != nil {
		return fmt.Errorf("%w: an answer over HTTP is not of the contract API", ErrMisbehaved)
	}
	return nil
}

// apiErrorOf reads a refusal.
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
			e.Message = printable(text)
			break
		}
	}
	for name, text := range body.Fields {
		if len(e.Fields) < 20 {
			e.Fields[printable(name)] = printable(text)
		}
	}
	return e
}

// at returns the path of something of a contract.
func contractPath(id string, more ...string) string {
	path := contractsPath + "/" + url.PathEscape(id)
	for _, m := range more {
		path += "/" + m
	}
	return path
}

// pageQuery asks for a page.
func pageQuery(offset int) url.Values {
	return url.Values{"limit": {strconv.Itoa(apiPage)}, "offset": {strconv.Itoa(offset)}}
}

// eachPage asks for page after page, until one is empty, or the last by what the
// API says, and reports whether that was all. page returns how many things one
// has, and how many there are.
func eachPage(page func(offset int) (n, total int, err error)) (complete bool, err error) {
	offset := 0
	for range maxContractPages {
		n, total, err := page(offset)
		if err != nil {
			return false, err
		}
		if offset += n; n == 0 || offset >= total {
			return true, nil
		}
		if offset > maxContractThings {
			break
		}
	}
	return false, nil
}

// byPoster adds to a query whose contract is meant; "" is any.
func byPoster(query url.Values, poster string) url.Values {
	if poster == "" {
		return query
	}
	if query == nil {
		query = url.Values{}
	}
	query.Set("poster", poster)
	return query
}

// probe returns nil if a relay has the contract API, whatever it thinks of this
// key.
func (c *Client) probe(ctx context.Context, t target) error {
	var page struct {
		Contracts *[]json.RawMessage `json:"contracts"`
	}
	err := c.api(ctx, t, http.MethodGet, contractsPath, url.Values{"limit": {"1"}}, nil, &page)
	var said *APIError
	switch {
	case err == nil && page.Contracts == nil:
		return ErrNoAPI
	case errors.As(err, &said) && said.Status == http.StatusNotFound:
		return ErrNoAPI
	case errors.As(err, &said) && (said.Status == http.StatusUnauthorized || said.Status == http.StatusForbidden):
		return nil
	}
	return err
}
