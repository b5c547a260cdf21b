package rig

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// Caller sends HTTP requests to a relay over connections that it keeps.
type Caller struct {
	Relay  *relaytest.Child
	client *http.Client
}

func NewCaller(t *testing.T, relay *relaytest.Child) *Caller {
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &Caller{relay, &http.Client{
		Transport: transport, Timeout: relaytest.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Signed sends a request in the name of k (NIP-98); nil sends it unsigned.
func (c *Caller) Signed(k *relaytest.Key, method, path string, body []byte) (relaytest.Response, error) {
	header := http.Header{}
	if k != nil {
		header.Set("Authorization", relaytest.HTTPAuth(*k, method, c.Relay.HTTP(path), body, Now()))
	}
	return c.MustSend(method, path, body, header)
}

// MustSend sends a request with these headers and reads the answer to its end.
func (c *Caller) MustSend(method, path string, body []byte, header http.Header) (relaytest.Response, error) {
	req, err := http.NewRequest(method, c.Relay.HTTP(path), bytes.NewReader(body))
	if err != nil {
		return relaytest.Response{}, err
	}
	req.Header = header
	resp, err := c.client.Do(req)
	if err != nil {
		return relaytest.Response{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	r := relaytest.Response{Status: resp.StatusCode, Header: resp.Header}
	r.Body, err = io.ReadAll(resp.Body)
	r.Aborted = err != nil
	for name, values := range resp.Trailer {
		if len(values) > 0 {
			r.Header[name] = values
		}
	}
	return r, nil
}
