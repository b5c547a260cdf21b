// Package model asks a model server that speaks OpenAI's form over HTTP, for
// whatever is asked of one: the same rules hold for all of them.
//
// A server is used only if somebody names its URL. What is sent is plain text, so
// that beyond this machine it takes https and Options.SendPlaintext. A key is in no
// error and no URL, redirects are not followed, no proxy is used, and what a server
// says is bounded and stands in no error.
package model

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
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
