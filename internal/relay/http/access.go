package relayhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"engramd/internal/relay/logging/redact"
)

// visit is what the log says about one request. The code that answers the
// request fills it in.
type visit struct {
	endpoint string
	key      string // who signed, 64 lower-case hex digits
	reason   string // why it was refused
}

type visitKey struct{}

// SetAccess turns the access log on or off, for requests to come.
func (h *Handler) SetAccess(on bool) { h.access.Store(on) }

// watched follows a request if requests are logged; done logs its outcome.
func (h *Handler) watched(w *statusWriter, r *http.Request, addr netip.Addr) (_ *http.Request, done func()) {
	access, debug := h.access.Load(), h.log.Enabled(r.Context(), slog.LevelDebug)
	if !access && !debug {
		return r, func() {}
	}
	begun := h.probe.clock()
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, &w.visit))
	method := r.Method
	if !slices.Contains(knownMethods, method) {
		method = "other" // the client's own text
	}
	return r, func() {
		v := w.visit
		who := "nobody"
		if v.key != "" {
			who = h.tags.Of(v.key)
		}
		took := h.probe.clock().Sub(begun).Round(time.Microsecond)
		if debug && w.status >= http.StatusBadRequest {
			attrs := []any{"addr", addr, "who", who, "what", v.endpoint, "method", method, "status", w.status}
			if v.reason != "" {
				attrs = append(attrs, "reason", redact.Reason(v.reason))
			}
			h.log.Debug("refused", attrs...)
		}
		if access && w.status != http.StatusSwitchingProtocols && !w.taken {
			h.log.Info(redact.Access, "addr", addr, "who", who, "method", method, "endpoint", v.endpoint, "status", w.status,
				"bytes_in", max(r.ContentLength, 0), "bytes", w.bytes, "took", took)
		}
	}
}

// knownMethods are the methods that the log names.
var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

// signedBy notes the key whose signature, or token, a request carries.
func signedBy(r *http.Request, key string) {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		v.key = key
	}
}

// refusedFor notes why a request is refused.
func refusedFor(r *http.Request, err error) {
	v, ok := r.Context().Value(visitKey{}).(*visit)
	if !ok {
		return
	}
	var p *Problem
	v.reason = "error: the relay failed to answer"
	if errors.As(err, &p) {
		v.reason = p.Error()
	}
}
