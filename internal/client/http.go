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

// HTTP makes the calls of a client to relays over HTTP: signed (NIP-98), or with
// its token.
type HTTP struct {
	id     Identity
	token  *bearer // nil: who asks is id
	o      Options
	client *http.Client
}

// Call is one request to a relay over HTTP.
type Call struct {
	Method string // "" is GET
	Path   string // escaped, below the relay's own URL
	Query  url.Values
	Body   any    // sent as JSON; nil: none
	Kind   string // Content-Type of the body, or without one of the answer; "" is jsonType
	Bearer string // proves who calls in place of a signature
}

// Reply is what came back, whatever it is.
type Reply struct {
	Status int
	Kind   string    // Content-Type without parameters
	Date   time.Time // Date, by the relay's clock; zero without one
	Text   []byte
}

// Call makes one call and reads its answer, within the client's bounds.
func (h *HTTP) Call(ctx context.Context, t Target, call Call) (answer Reply, err error) {
	if t.Err != nil {
		return answer, t.Err
	}
	req, err := h.request(ctx, t, call)
	if err != nil {
		return answer, err
	}
	resp, err := h.exchange(t, req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	answer.Status = resp.StatusCode
	answer.Kind, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	answer.Date, _ = http.ParseTime(resp.Header.Get("Date"))
	if !strings.HasSuffix(answer.Kind, "json") {
		answer.Text, _ = io.ReadAll(io.LimitReader(resp.Body, maxForeign)) // a page for people, as a rule
		return answer, nil
	}
	answer.Text, err = io.ReadAll(io.LimitReader(resp.Body, h.o.Limits.BodyBytes+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return answer, fmt.Errorf("%w: an answer over HTTP was cut off", ErrTimeout)
	case err != nil:
		return answer, fmt.Errorf("%w: an answer over HTTP was cut off", ErrMisbehaved)
	case int64(len(answer.Text)) > h.o.Limits.BodyBytes:
		return answer, fmt.Errorf("%w: an answer over HTTP is larger than %d bytes", ErrMisbehaved, h.o.Limits.BodyBytes)
	}
	return answer, nil
}

// exchange sends a request and returns the head of its answer, whose body is to
// be closed.
func (h *HTTP) exchange(t Target, req *http.Request) (*http.Response, error) {
	trace := h.o.tracer(t.URL)
	trace(true, []byte(req.Method+" "+req.URL.String()))
	c := h.client
	if t.Listed {
		c = newHTTPClient(h.o.dialingTo(t))
		req.Close = true
	}
	resp, err := c.Do(req)
	switch {
	case err != nil && req.Context().Err() != nil:
		return nil, fmt.Errorf("%w: no answer over HTTP", ErrTimeout)
	case err != nil:
		if at, ok := errors.AsType[*url.Error](err); ok { // without the URL, which names an address
			err = at.Err
		}
		return nil, &httpError{err}
	}
	trace(false, []byte("HTTP "+resp.Status))
	return resp, nil
}

// signed makes a request that is signed (NIP-98).
func (h *HTTP) signed(ctx context.Context, t Target, method, path string, query url.Values, body []byte) (*http.Request, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	at, err := httpURL(t.URL, path, query)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("relay URL makes no request")
	}
	header, err := h.sign(method, at, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", header)
	return req, nil
}

func (h *HTTP) request(ctx context.Context, t Target, call Call) (*http.Request, error) {
	base, err := httpURL(t.URL, "", nil)
	if err != nil {
		return nil, err
	}
	at := strings.TrimRight(base, "/") + call.Path
	if len(call.Query) > 0 {
		at += "?" + call.Query.Encode()
	}
	var payload []byte
	if call.Body != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(call.Body); err != nil {
			return nil, fmt.Errorf("%w: it has no form in JSON", ErrInvalid)
		}
		payload = bytes.TrimSpace(b.Bytes())
	}
	req, err := http.NewRequestWithContext(ctx, call.Method, at, bytes.NewReader(payload))
	if err != nil {
		return nil, errors.New("relay URL makes no request")
	}
	kind := jsonType
	if call.Kind != "" {
		kind = call.Kind
	}
	req.Header.Set("Accept", kind) // alone: strfry tells its information document (NIP-11) to nobody who takes anything else too
	if call.Body != nil {
		req.Header.Set("Content-Type", kind)
		if kind != jsonType {
			req.Header.Set("Accept", kind+", "+jsonType)
		}
	}
	if call.Bearer == "" {
		if call.Bearer, err = h.bearerFor(t); err != nil {
			return nil, err
		}
	}
	header := "Bearer " + call.Bearer
	if call.Bearer == "" {
		if h.id.PubKey() == "" { // nobody signs nothing
			return req, nil
		}
		// The same change twice within a second is two requests.
		var once []nostr.Tag
		if req.Method != http.MethodGet {
			nonce, err := h.o.Random(16)
			if err != nil {
				return nil, err
			}
			once = append(once, nostr.Tag{"nonce", hex.EncodeToString(nonce)})
		}
		if header, err = h.sign(req.Method, at, payload, once...); err != nil {
			return nil, err
		}
	}
	req.Header.Set("Authorization", header)
	return req, nil
}

// sign returns the Authorization header of a request (NIP-98), with further
// tags: at is the URL exactly as it is asked for.
func (h *HTTP) sign(method, at string, payload []byte, more ...nostr.Tag) (string, error) {
	ev := &nostr.Event{Kind: nostr.KindHTTPAuth, CreatedAt: nostr.Timestamp(h.o.now()), Tags: nostr.Tags{{"u", at}, {"method", method}}}
	if method != http.MethodGet {
		sum := sha256.Sum256(payload)
		ev.Tags = append(ev.Tags, nostr.Tag{"payload", hex.EncodeToString(sum[:])})
	}
	ev.Tags = append(ev.Tags, more...)
	if err := h.id.Sign(ev); err != nil {
		return "", err
	}
	return "Nostr " + base64.StdEncoding.EncodeToString(wire.AppendEvent(nil, ev)), nil
}
