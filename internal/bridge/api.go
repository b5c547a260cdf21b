package bridge

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"engramd/internal/gate"
	"engramd/internal/relay"
	"engramd/internal/wire"
)

// maxBody is the largest body of a request.
const maxBody = 1 << 20

// call is one signed request that was let in.
type call struct {
	*http.Request // its context carries who is asking
	w             http.ResponseWriter
	body          []byte
	signed        signed
	limits        *Limits
}

// problem is an answer other than 200: a status and "prefix: text".
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

// statuses of the machine-readable prefixes of NIP-01; 403 for any other, which
// only an operator's own hook can have made up.
func statusOf(text string) int {
	prefix, _, _ := strings.Cut(text, ":")
	switch prefix {
	case "invalid", "pow":
		return http.StatusBadRequest
	case gate.PrefixAuthRequired:
		return http.StatusUnauthorized
	case "rate-limited":
		return http.StatusTooManyRequests
	case "error":
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// refused is the answer for a text that starts with its prefix.
func refused(text string) *problem { return &problem{statusOf(text), text} }

// failed is the answer for an error of the relay.
func failed(err error) *problem { return refused(relay.ErrorText(err)) }

// api adds a signed endpoint at its path, and below every path that the relay
// has in a public URL, for proxies that pass it on.
func (h *Handler) api(base, path, method string, serve func(*call) error) {
	endpoint := strings.TrimPrefix(path, "/")
	h.handle(base+path, func(w http.ResponseWriter, r *http.Request) {
		h.counted(w, endpoint, func(w http.ResponseWriter) {
			apiHeaders(w.Header(), method)
			switch r.Method {
			case http.MethodOptions:
				w.Header().Set("Access-Control-Max-Age", "86400")
				w.WriteHeader(http.StatusNoContent)
			case method:
				h.serveCall(w, r, path, h.admit, serve)
			default:
				w.Header().Set("Allow", method+", OPTIONS")
				w.Header().Set("Connection", "close") // no body is waited for
				writeError(w, http.StatusMethodNotAllowed, "invalid: this path is asked with "+method)
			}
		})
	})
}

// apiHeaders lets pages of any origin ask and read: what counts is the
// signature, never a cookie.
func apiHeaders(hdr http.Header, method string) {
	allowCORS(hdr)
	hdr.Set("Access-Control-Allow-Methods", method+", OPTIONS")
	hdr.Set("Access-Control-Expose-Headers", truncated+", Retry-After, WWW-Authenticate")
	hdr.Set("Cache-Control", "no-store")
}

// admission lets a signed request in.
type admission func(w http.ResponseWriter, r *http.Request, path string) (*call, error)

// serveCall lets a request in, runs it and answers what went wrong. A panic
// ends this request and nothing else.
func (h *Handler) serveCall(w http.ResponseWriter, r *http.Request, path string, admit admission, serve func(*call) error) {
	sw := &startedWriter{ResponseWriter: w}
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
					panic(v)
				}
				h.log.Error("panic in a request", "path", path, "panic", v)
				err = refused("error: the relay failed to answer")
			}
		}()
		leave, err := h.enter(r)
		if err != nil {
			return err
		}
		defer leave()
		c, err := admit(sw, r, path)
		if err != nil {
			return err
		}
		return serve(c)
	}()
	if err == nil {
		return
	}
	if sw.started {
		// Half an answer must not look like a whole one.
		panic(http.ErrAbortHandler)
	}
	h.answerProblem(w, err)
}

func (h *Handler) answerProblem(w http.ResponseWriter, err error) {
	var p *problem
	var own *Refusal
	switch {
	case errors.As(err, &own):
		p = &problem{own.Status, own.Text}
	case !errors.As(err, &p):
		p = failed(err)
	}
	h.renew(w)
	switch p.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Nostr")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	if own != nil && len(own.Fields) > 0 {
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, p.status, "application/json", map[string]any{"error": own.Text, "fields": own.Fields})
		return
	}
	writeError(w, p.status, p.text)
}

// enter refuses what is not even looked at, or takes a slot.
func (h *Handler) enter(r *http.Request) (leave func(), err error) {
	if h.draining.Load() {
		return nil, refused("error: " + errDraining.Error())
	}
	if r.ContentLength > maxBody {
		return nil, tooLarge(maxBody)
	}
	leave, full := h.slots.enter(relay.AddrFrom(r.Context()))
	if full != "" {
		return nil, refused("rate-limited: " + full + "; retry in 1s")
	}
	return leave, nil
}

func tooLarge(most int) *problem {
	return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("invalid: at most %d bytes are taken", most)}
}

// admit finds out who is asking: the signature first, then the body, then
// whether it is the one that was signed.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, path string) (*call, error) {
	if h.backend.RejectsConnection(r) {
		return nil, refused("blocked: connection refused")
	}
	by, err := h.signatures.check(r.Header.Values("Authorization"), r.Method, path, r.URL.RawQuery)
	if err != nil {
		return nil, refused(gate.PrefixAuthRequired + ": " + err.Error())
	}
	body, err := readBody(w, r, maxBody)
	if err != nil {
		return nil, err
	}
	if err := by.covers(body); err != nil {
		return nil, refused(gate.PrefixAuthRequired + ": " + err.Error())
	}
	ctx := relay.WithReader(r.Context(), gate.NewReader(by.pubkey))
	return &call{Request: r.WithContext(ctx), w: w, body: body, signed: by, limits: h.slots.limits.Load()}, nil
}

func readBody(w http.ResponseWriter, r *http.Request, most int) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(most)))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(most)
	case err != nil:
		return nil, refused("invalid: the body did not arrive as announced")
	}
	// The server bounds the time for a request's body. It is over now; left in
	// place, the deadline would end an answer that takes longer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a recorder in tests has none
	return body, nil
}

// renew gives the client the time of one stall for what is written next.
func (h *Handler) renew(w http.ResponseWriter) {
	deadline := time.Now().Add(h.slots.limits.Load().Stall)
	_ = http.NewResponseController(w).SetWriteDeadline(deadline) // a recorder in tests has none
}

// wireLimits are those of the parser.
func (l *Limits) wireLimits() wire.Limits {
	return wire.Limits{FilterValues: l.FilterValues, Filters: l.Filters}
}

// startedWriter knows whether an answer has begun.
type startedWriter struct {
	http.ResponseWriter
	started bool
}

// WriteHeader notes that the answer has begun.
func (w *startedWriter) WriteHeader(status int) {
	w.started = true
	w.ResponseWriter.WriteHeader(status)
}

// Write notes that the answer has begun.
func (w *startedWriter) Write(b []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the connection.
func (w *startedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
