package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/wire"
)

const (
	contractsPath = "/api/escrow/contracts"
	// apiPage is how many things are asked for at a time.
	apiPage = 500
	// maxContractThings bounds what one relay's API may list in answer to one question.
	maxContractThings = 20_000
)

// APIError is a refusal of the contract API in its own words. It is ErrInvalid
// for 400, ErrAuth for 401 and 403, ErrNotFound for 404, ErrConflict for 409,
// ErrTooLarge for 413, else ErrRefused.
type APIError struct {
	Status  int
	Message string            // printable, cut
	Fields  map[string]string // of 400: what is wrong with which; printable
}

// Error is the message with the fields.
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

// api is one call of a relay's HTTP API. path is escaped; a body that is not nil
// is sent as JSON; what is answered is decoded into out. A refusal is an
// *APIError; what is no answer of an API is ErrNoAPI.
func (c *Client) api(ctx context.Context, t target, method, path string, query url.Values, body, out any) error {
	if t.err != nil {
		return t.err
	}
	req, err := c.apiRequest(ctx, t, method, path, query, body)
	if err != nil {
		return err
	}
	trace := c.tracer(t.url)
	trace(true, []byte(method+" "+req.URL.String()))
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: no answer over HTTP", ErrTimeout)
		}
		return fmt.Errorf("over HTTP: %s", printable(withoutURL(err).Error()))
	}
	defer resp.Body.Close()
	trace(false, []byte("HTTP "+resp.Status))
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "application/json" || resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400 || resp.StatusCode == http.StatusMethodNotAllowed {
		return fmt.Errorf("%w (HTTP status %d)", ErrNoAPI, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, c.o.Limits.BodyBytes+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: an answer over HTTP was cut off", ErrTimeout)
	case err != nil:
		return fmt.Errorf("%w: an answer over HTTP was cut off", ErrMisbehaved)
	case int64(len(text)) > c.o.Limits.BodyBytes:
		return fmt.Errorf("%w: an answer over HTTP is larger than %d bytes", ErrMisbehaved, c.o.Limits.BodyBytes)
	case resp.StatusCode >= 400:
		return apiErrorOf(resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%w: an answer over HTTP is not of the contract API", ErrMisbehaved)
	}
	return nil
}

func (c *Client) apiRequest(ctx context.Context, t target, method, path string, query url.Values, body any) (*http.Request, error) {
	base, err := httpURL(t.url, "", nil)
	if err != nil {
		return nil, err
	}
	at := strings.TrimRight(base, "/") + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	var payload []byte
	if body != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(body); err != nil {
			return nil, fmt.Errorf("%w: it has no form in JSON", ErrInvalid)
		}
		payload = bytes.TrimSpace(b.Bytes())
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(payload))
	if err != nil {
		return nil, errors.New("relay URL makes no request")
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	header, err := c.signAPI(method, at, payload)
	if err != nil {
		return nil, err
	}
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	return req, nil
}

// signAPI is the Authorization header of a request (NIP-98). One that changes
// something has a nonce: the same change twice within a second is two requests.
// Nobody signs nothing.
func (c *Client) signAPI(method, at string, payload []byte) (string, error) {
	if c.id.PubKey() == "" {
		return "", nil
	}
	ev := &nostr.Event{Kind: kindHTTPAuth, CreatedAt: nostr.Timestamp(c.now()), Tags: nostr.Tags{{"u", at}, {"method", method}}}
	if method != http.MethodGet {
		nonce, err := c.random(16)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(payload)
		ev.Tags = append(ev.Tags, nostr.Tag{"payload", hex.EncodeToString(sum[:])}, nostr.Tag{"nonce", hex.EncodeToString(nonce)})
	}
	if err := c.id.Sign(ev); err != nil {
		return "", err
	}
	return "Nostr " + base64.StdEncoding.EncodeToString(wire.AppendEvent(nil, ev)), nil
}

// random is so many random bytes.
func (c *Client) random(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(c.o.Rand, b); err != nil {
		return nil, fmt.Errorf("randomness: %w", err)
	}
	return b, nil
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

// at is the path of something of a contract.
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

// probe is nil if a relay has the contract API, whatever it thinks of this key.
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
