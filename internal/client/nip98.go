package client

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// newHTTPClient makes a client that follows no redirect: a signature is for one
// URL, and one relay must not pass us on to another.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// httpURL returns the URL of an endpoint of a relay: its own with http for ws,
// the path added to its path, and the query.
func httpURL(relay, path string, query url.Values) (string, error) {
	u, err := url.Parse(relay)
	if err != nil {
		return "", fmt.Errorf("relay URL does not parse")
	}
	u.Scheme = "http" + strings.TrimPrefix(strings.ToLower(u.Scheme), "ws")
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+path, ""
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// sign returns the Authorization header of a request (NIP-98): u is
// the URL exactly as it is asked for.
func (h *HTTP) sign(method, url string, body []byte) (string, error) {
	ev := &nostr.Event{Kind: nostr.KindHTTPAuth, CreatedAt: nostr.Timestamp(h.o.now()),
		Tags: nostr.Tags{{"u", url}, {"method", method}}}
	if body != nil {
		sum := sha256.Sum256(body)
		ev.Tags = append(ev.Tags, nostr.Tag{"payload", hex.EncodeToString(sum[:])})
	}
	if err := h.id.Sign(ev); err != nil {
		return "", err
	}
	return "Nostr " + base64.StdEncoding.EncodeToString(wire.AppendEvent(nil, ev)), nil
}
