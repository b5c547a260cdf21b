// Package embed asks a model server what texts mean, in numbers: vectors of
// texts (/v1/embeddings of OpenAI's form, which llama.cpp, Ollama and vLLM
// serve), and how well texts answer a query (/v1/rerank).
//
// It is used only if somebody names a URL. Texts go there as plain text, so that
// beyond this machine it takes https and Options.SendPlaintext. A key is in no
// error and no URL, and redirects are not followed. What a server says is bounded
// and checked.
package embed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Embedder makes vectors of texts.
type Embedder interface {
	// Name is the model's: vectors of one name can be compared.
	Name() string
	// Dim is how many numbers a vector has; 0 before the first answer.
	Dim() int
	// Embed returns a vector for each text, in their order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Bounds of one request and its answer.
const (
	MaxBatch     = 32       // texts in one request
	MaxText      = 32 << 10 // bytes of one text; the rest is not sent
	MaxDim       = 8192
	maxAnswer    = 16 << 20
	maxName      = 200
	defaultLimit = 30 * time.Second
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

// Options say which server is asked, and how.
type Options struct {
	URL   string // the server's, or the whole endpoint's
	Model string
	Key   string // "" for none; sent as a bearer token
	// SendPlaintext allows a server beyond this machine, by https only.
	SendPlaintext bool
	Timeout       time.Duration     // of one request; default 30 s
	Transport     http.RoundTripper // nil is one of its own, without proxies
}

// server is where requests go.
type server struct {
	endpoint, model, key string
	http                 *http.Client
}

// open checks the options. path is that of the endpoint.
func open(o Options, path string) (*server, error) {
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
	if o.Transport == nil {
		// No proxy: what is for this machine stays on it.
		t := &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
		o.Transport = t
	}
	return &server{endpoint: u.String(), model: o.Model, key: o.Key, http: &http.Client{Timeout: o.Timeout, Transport: o.Transport,
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
