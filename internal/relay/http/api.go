package relayhttp

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// Problem is an answer other than success.
type Problem struct {
	Status int
	// Why may have no prefix, if the API's users know the text as it is.
	Why    nip01.Refusal
	Fields map[string]string // of the request, and what is wrong with each; may be nil
}

// Error returns the text of the answer.
func (p *Problem) Error() string {
	if p.Why.Prefix == "" {
		return p.Why.Text
	}
	return p.Why.Error()
}

// statuses are those of refusals by their prefix; an unknown one, which only an
// operator's own hook can have made up, is 403.
var statuses = map[string]int{
	nip01.PrefixInvalid: http.StatusBadRequest, nip01.PrefixPoW: http.StatusBadRequest,
	nip01.PrefixAuthRequired: http.StatusUnauthorized, nip01.PrefixConflict: http.StatusConflict,
	nip01.PrefixRateLimited: http.StatusTooManyRequests, nip01.PrefixError: http.StatusServiceUnavailable,
}

// problemOf returns the answer to a refusal; nil is a refusal without a text.
func problemOf(why *nip01.Refusal) *Problem {
	if why == nil {
		return &Problem{Status: http.StatusForbidden}
	}
	return &Problem{Status: cmp.Or(statuses[why.Prefix], http.StatusForbidden), Why: *why}
}

// refused returns the answer to a refusal by the bridge itself.
func refused(prefix, text string) *Problem {
	return problemOf(&nip01.Refusal{Prefix: prefix, Text: text})
}

// failed returns the answer to an error of the relay.
func failed(err error) *Problem {
	p := problemOf(relay.RefusalOf(err))
	if errors.Is(err, store.ErrDamaged) { // to ask again does not help
		p.Status = http.StatusInternalServerError
	}
	return p
}

// api adds a signed endpoint at its path, and below every path that the relay
// has in a public URL, for proxies that pass it on.
func (h *Handler) api(base, path, method string, serve func(*call) error) {
	endpoint := strings.TrimPrefix(path, "/")
	h.handle(base+path, func(w http.ResponseWriter, r *http.Request) {
		h.in.counted(w, endpoint, func(w *statusWriter) {
			apiHeaders(w.Header(), method)
			switch r.Method {
			case http.MethodOptions:
				w.Header().Set("Access-Control-Max-Age", "86400")
				w.WriteHeader(http.StatusNoContent)
			case method:
				h.in.serveCall(w, r, path, h.in.signedAdmission(), serve)
			default:
				w.Header().Set("Allow", method+", OPTIONS")
				writeError(w, http.StatusMethodNotAllowed, "invalid: this path is asked with "+method)
			}
		})
	})
}

// apiHeaders lets pages of any origin send requests and read answers: only the
// signature counts, never a cookie.
func apiHeaders(hdr http.Header, method string) {
	allowCORS(hdr)
	hdr.Set("Access-Control-Allow-Methods", method+", OPTIONS")
	hdr.Set("Access-Control-Expose-Headers", truncated+", "+damaged+", "+relay.SessionHeader+", Retry-After, WWW-Authenticate")
	hdr.Set("Cache-Control", "no-store")
}

func (in *intake) answerProblem(w http.ResponseWriter, err error) {
	var p *Problem
	if !errors.As(err, &p) {
		p = failed(err)
	}
	in.renew(w)
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Nostr")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	if len(p.Fields) > 0 {
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, p.Status, map[string]any{"error": p.Error(), "fields": p.Fields})
		return
	}
	writeError(w, p.Status, p.Error())
}

func tooLarge(most int) *Problem {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Why: *nip01.Refuse(nip01.PrefixInvalid, "at most %d bytes are taken", most)}
}

// renew gives the client one stall's time for the next write.
func (in *intake) renew(w http.ResponseWriter) {
	deadline := time.Now().Add(in.pools.limits.Load().Stall)
	_ = http.NewResponseController(w).SetWriteDeadline(deadline) // a recorder in tests has none
}

// wireLimits are the limits of the parser.
var wireLimits = wire.Limits{FilterValues: config.FilterValues, Filters: config.Filters}
