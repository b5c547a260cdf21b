package relaytest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Response is an HTTP answer that has been read to its end.
type Response struct {
	Status  int
	Header  http.Header // trailers included
	Body    []byte
	Aborted bool // the body did not end as HTTP wants it to
}

// Post sends a body to a path of the relay, with NIP-98 by k.
func (c *Child) Post(k Key, path string, body []byte) (Response, error) {
	auth := HTTPAuth(k, http.MethodPost, c.HTTP(path), body, time.Now().Unix())
	return c.Do(http.MethodPost, path, body, http.Header{"Authorization": {auth}})
}

// Get asks a path of the relay, with NIP-98 by k.
func (c *Child) Get(k Key, path string) (Response, error) {
	auth := HTTPAuth(k, http.MethodGet, c.HTTP(path), nil, time.Now().Unix())
	return c.Do(http.MethodGet, path, nil, http.Header{"Authorization": {auth}})
}

// Do sends any request. It follows no redirect.
func (c *Child) Do(method, path string, body []byte, header http.Header) (Response, error) {
	req, err := http.NewRequest(method, c.HTTP(path), bytes.NewReader(body))
	if err != nil {
		return Response{}, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	client := http.Client{
		Timeout:       Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	r := Response{Status: resp.StatusCode, Header: resp.Header}
	r.Body, err = io.ReadAll(resp.Body)
	r.Aborted = err != nil
	for name, values := range resp.Trailer {
		r.Header[name] = values
	}
	return r, nil
}
