// Package model asks a model server that speaks OpenAI's form over HTTP, for
// whatever is asked of one: the same rules hold for all of them.
//
// A server is used only if somebody names its URL. What is sent is plain text, so
// that beyond this machine it takes https and Options.SendPlaintext. A key is in no
// error and no URL, redirects are not followed, no proxy is used, and what a server
// says is bounded and stands in no error.
package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxName       = 200
	defaultLimit  = 30 * time.Second
	defaultAnswer = 16 << 20
)

// What asking fails with.
var (
	// ErrURL is a URL that texts are not sent to.
	ErrURL = errors.New("not a model server's URL")
	// ErrPlaintext is a URL beyond this machine that nobody has allowed.
	ErrPlaintext = errors.New("the model server is on another machine, and would read memories as plain text")
	// ErrFailed is a server that does not answer, or refuses.
	ErrFailed = errors.New("the model server failed")
	// ErrRefused is a server that takes not this request: of texts that are longer
	// than its model takes, for instance. It is an ErrFailed.
	ErrRefused = fmt.Errorf("%w: it refuses what it was sent", ErrFailed)
	// ErrAnswer is an answer that is none: of the wrong number or length, or with
	// what is no number.
	ErrAnswer = errors.New("the model server's answer makes no sense")
)

// Later is a server that wants to be asked again later. It is an ErrFailed.
type Later struct {
	Status int
	After  time.Duration // what it asks for; 0: it does not say
}

// Error names the status and the time.
func (e *Later) Error() string {
	if e.After > 0 {
		return fmt.Sprintf("%v: HTTP status %d: it wants to be asked again after %v", ErrFailed, e.Status, e.After)
	}
	return fmt.Sprintf("%v: HTTP status %d", ErrFailed, e.Status)
}

// Unwrap says what kind of failure it is.
func (e *Later) Unwrap() error { return ErrFailed }

// Options say which server is asked, and how.
type Options struct {
	URL   string // the server's, or the whole endpoint's
	Model string
	Key   string // "" for none; sent as a bearer token
	// SendPlaintext allows a server beyond this machine, by https only.
	SendPlaintext bool
	Timeout       time.Duration     // of one request; default 30 s
	MaxAnswer     int64             // bytes of one answer; default 16 MiB
	Transport     http.RoundTripper // nil is one of its own, without proxies
}

// Server is where requests go.
type Server struct {
	Model         string
	endpoint, key string
	maxAnswer     int64
	http          *http.Client
}

// Open checks the options. path is that of the endpoint, below /v1. It asks
// nothing yet. Errors are ErrURL and ErrPlaintext.
func Open(o Options, path string) (*Server, error) {
	u, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: want http://… or https://…, without a password in it", ErrURL)
	}
	if !loopback(u.Hostname()) {
		if u.Scheme != "https" {
			return nil, fmt.Errorf("%w: beyond this machine it must be https", ErrURL)
		}
		if !o.SendPlaintext {
			return nil, ErrPlaintext
		}
	}
	if o.Model == "" || len(o.Model) > maxName || strings.ContainsFunc(o.Model, func(r rune) bool { return r < ' ' }) {
		return nil, fmt.Errorf("%w: it needs the model's name", ErrURL)
	}
	if strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%w: the key has characters that no key has", ErrURL)
	}
	if !strings.HasSuffix(u.Path, path) {
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") + "/v1" + path
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultLimit
	}
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = defaultAnswer
	}
	if o.Transport == nil {
		// No proxy: what is for this machine stays on it.
		o.Transport = &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
	}
	return &Server{Model: o.Model, endpoint: u.String(), key: o.Key, maxAnswer: o.MaxAnswer, http: &http.Client{Timeout: o.Timeout, Transport: o.Transport,
		// A redirect would take the texts, and the key, to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// loopback reports whether a host is this machine, by its address or the name
// that stands for it.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// longest is the longest time that a server may ask for: more is as much.
const longest = 24 * time.Hour

// Post sends a request and reads the answer. Neither texts, key nor what the
// server says stand in an error. Errors are ErrFailed, with ErrRefused and *Later,
// and ErrAnswer.
func (s *Server) Post(ctx context.Context, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return failed(ctx, err)
	}
	defer resp.Body.Close()
	if err := refusal(resp); err != nil {
		return err
	}
	if strings.HasPrefix(strings.ToLower(resp.Header.Get("Content-Type")), "text/event-stream") {
		return fmt.Errorf("%w: it streams, and was asked for one answer", ErrAnswer)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, s.maxAnswer+1))
	if err != nil {
		return failed(ctx, err)
	}
	if int64(len(data)) > s.maxAnswer {
		return fmt.Errorf("%w: it is longer than %d bytes", ErrAnswer, s.maxAnswer)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%w: it is not the JSON that was asked for", ErrAnswer)
	}
	return nil
}

// refusal is what a status says that is no answer.
func refusal(resp *http.Response) error {
	switch code := resp.StatusCode; code {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return fmt.Errorf("%w: HTTP status %d", ErrRefused, code)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &Later{Status: code, After: after(resp.Header)}
	default:
		if code >= 300 && code < 400 {
			return fmt.Errorf("%w: HTTP status %d: redirects are not followed", ErrFailed, code)
		}
		return fmt.Errorf("%w: HTTP status %d", ErrFailed, code)
	}
}

// after reads Retry-After: seconds, or a time, of which the server's own clock
// says how far off it is.
func after(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(longest/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longest)
}

// failed is a failure of the network, without the URL: a query of it may hold a
// key.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrFailed, ctx.Err())
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w: no answer in time", ErrFailed)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	return fmt.Errorf("%w: %s", ErrFailed, strings.ToValidUTF8(err.Error(), "?"))
}
