package bridge

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"engramd/internal/gate"
	"engramd/internal/relay"
	"engramd/internal/wire"
)

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
	case "conflict":
		return http.StatusConflict
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
				h.serveCall(w, r, path, h.signedDoor(), serve)
			default:
				w.Header().Set("Allow", method+", OPTIONS")
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

func tooLarge(most int) *problem {
	return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("invalid: at most %d bytes are taken", most)}
}

// renew gives the client the time of one stall for what is written next.
func (h *Handler) renew(w http.ResponseWriter) {
	deadline := time.Now().Add(h.pools.limits.Load().Stall)
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
