package relayhttp

import (
	"net/http"
	"net/url"

	"engramd/internal/relay"
	"engramd/nips/nip01"
)

var errForeign = &Problem{Status: http.StatusForbidden, Why: nip01.Refusal{Prefix: nip01.PrefixRestricted, Text: "this relay answers web pages of its own machine only (public_url lifts that)"}}

// foreign reports whether a browser sends a request for a page that does not come
// from this machine; a page from disk, and a frame without an origin ("null"), are
// such pages too. Programs send no Origin. The Host header does not count: under a
// name of somebody else's that leads here it is theirs.
func foreign(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !relay.Loopback(u.Hostname()) {
			return true
		}
	}
	return false
}

// refuseForeign answers such a request, so that its page cannot read the answer.
func (h *Handler) refuseForeign(w http.ResponseWriter, r *http.Request) {
	refusedFor(r, errForeign)
	h.in.counted(w, "other", func(w *statusWriter) {
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, errForeign.Status, map[string]string{"error": errForeign.Error()})
	})
}
