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
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

const (
	jsonType = "application/json"
	// maxForeign is how much is read of an answer that does not say that it is
	// JSON.
	maxForeign = 64 << 10
)

// httpCall is one request to a relay over HTTP.
type httpCall struct {
	method string
	path   string // escaped, below the relay's own URL
	query  url.Values
	body   any    // sent as JSON; nil: none
	kind   string // Content-Type of the body, or without one of the answer; "" is jsonType
	bearer string // proves who calls in place of a signature
}

// httpAnswer is what came back, whatever it is.
type httpAnswer struct {
	status int
	kind   string    // Content-Type without parameters
	date   time.Time // Date, by the relay's clock; zero without one
	text   []byte
}

// httpCall makes one call and reads its answer, within the client's bounds.
func (c *Client) httpCall(ctx context.Context, t target, call httpCall) (answer httpAnswer, err error) {
	if t.err != nil {
		return answer, t.err
	}
	req, err := c.httpRequest(ctx, t, call)
	if err != nil {
		return answer, err
	}
	trace := c.tracer(t.url)
	trace(true, []byte(call.method+" "+req.URL.String()))
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return answer, fmt.Errorf("%w: no answer over HTTP", ErrTimeout)
		}
		return answer, fmt.Errorf("over HTTP: %s", printable(withoutURL(err).Error()))
	}
	defer resp.Body.Close()
	trace(false, []byte("HTTP "+resp.Status))
	answer.status = resp.StatusCode
	answer.kind, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	answer.date, _ = http.ParseTime(resp.Header.Get("Date"))
	if !strings.HasSuffix(answer.kind, "json") {
		answer.text, _ = io.ReadAll(io.LimitReader(resp.Body, maxForeign)) // a page for people, as a rule
		return answer, nil
	}
	answer.text, err = io.ReadAll(io.LimitReader(resp.Body, c.o.Limits.BodyBytes+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return answer, fmt.Errorf("%w: an answer over HTTP was cut off", ErrTimeout)
	case err != nil:
		return answer, fmt.Errorf("%w: an answer over HTTP was cut off", ErrMisbehaved)
	case int64(len(answer.text)) > c.o.Limits.BodyBytes:
		return answer, fmt.Errorf("%w: an answer over HTTP is larger than %d bytes", ErrMisbehaved, c.o.Limits.BodyBytes)
	}
	return answer, nil
}

func (c *Client) httpRequest(ctx context.Context, t target, call httpCall) (*http.Request, error) {
	base, err := httpURL(t.url, "", nil)
	if err != nil {
		return nil, err
	}
	at := strings.TrimRight(base, "/") + call.path
	if len(call.query) > 0 {
		at += "?" + call.query.Encode()
	}
	var payload []byte
	if call.body != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(call.body); err != nil {
			return nil, fmt.Errorf("%w: it has no form in JSON", ErrInvalid)
		}
		payload = bytes.TrimSpace(b.Bytes())
	}
	req, err := http.NewRequestWithContext(ctx, call.method, at, bytes.NewReader(payload))
	if err != nil {
		return nil, errors.New("relay URL makes no request")
	}
	kind := jsonType
	if call.kind != "" {
		kind = call.kind
	}
	req.Header.Set("Accept", kind) // alone: strfry tells its information document (NIP-11) to nobody who takes anything else too
	if call.body != nil {
		req.Header.Set("Content-Type", kind)
		if kind != jsonType {
			req.Header.Set("Accept", kind+", "+jsonType)
		}
	}
	if call.bearer == "" {
		if call.bearer, err = c.bearerFor(t); err != nil {
			return nil, err
		}
	}
	header := "Bearer " + call.bearer
	if call.bearer == "" {
		if header, err = c.signAPI(call.method, at, payload); err != nil {
			return nil, err
		}
	}
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	return req, nil
}

// signAPI returns the Authorization header of a request (NIP-98). One that
// changes something has a nonce: the same change twice within a second is two
// requests. Nobody signs nothing.
func (c *Client) signAPI(method, at string, payload []byte) (string, error) {
	if c.id.PubKey() == "" {
		return "", nil
	}
	ev := &nostr.Event{Kind: nostr.KindHTTPAuth, CreatedAt: nostr.Timestamp(c.now()), Tags: nostr.Tags{{"u", at}, {"method", method}}}
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

// random returns so many random bytes.
func (c *Client) random(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(c.o.Rand, b); err != nil {
		return nil, fmt.Errorf("randomness: %w", err)
	}
	return b, nil
}
