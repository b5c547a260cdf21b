package relayhttp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"engramd/internal/relay"
)

// writeJSON answers with a small document, for a request that holds no place.
func writeJSON(w http.ResponseWriter, status int, doc any) {
	status, body := encoded(status, doc)
	jsonHeaders(w, status, body)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// encoded returns a document and the status of its answer. Documents that are
// passed here always encode.
func encoded(status int, doc any) (int, []byte) {
	body, err := json.Marshal(doc)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"error: the answer could not be encoded"}`)
	}
	return status, append(body, '\n')
}

func jsonHeaders(w http.ResponseWriter, status int, body []byte) {
	hdr := w.Header()
	hdr.Set("Content-Type", "application/json")
	hdr.Set("X-Content-Type-Options", "nosniff")
	hdr.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
}

// answer answers a call with a document. The call gives its place back while
// the answer is on its way.
func (in *intake) answer(c *call, status int, doc any) error {
	var body []byte
	err := in.compute(c.Context(), in.pools.checking, func() error {
		status, body = encoded(status, doc)
		return nil
	})
	if err != nil {
		return err
	}
	c.yield(len(body))
	in.renew(c.w)
	jsonHeaders(c.w, status, body)
	return in.write(c, body)
}

// writeError answers {"error": text}; text is "prefix: reason".
func writeError(w http.ResponseWriter, status int, text string) {
	hdr := w.Header()
	hdr.Set("Cache-Control", "no-store")
	hdr.Set("Access-Control-Allow-Origin", "*")
	writeJSON(w, status, map[string]string{"error": text})
}

// readOnly lets GET and HEAD through and answers anything else with 405.
func readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD, OPTIONS")
	writeError(w, http.StatusMethodNotAllowed, "invalid: this path is read with GET")
	return false
}

// allowCORS lets pages of any origin read the answer: nothing here depends on
// cookies.
func allowCORS(hdr http.Header) {
	hdr.Set("Access-Control-Allow-Origin", "*")
	hdr.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
	hdr.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, "+relay.AttestationHeader+", "+relay.SessionHeader)
}

func preflight(w http.ResponseWriter, management bool) {
	allowCORS(w.Header())
	if management {
		w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
	}
	w.Header().Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// wantsInfo reports whether Accept names application/nostr+json (NIP-11), alone
// or in a list. A q of zero means that the client does not accept it; other
// weights do not matter, because a client that names the type at all speaks
// Nostr.
func wantsInfo(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Accept"), func(line string) bool {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), infoType) && weight(params) > 0 {
				return true
			}
		}
		return false
	})
}

// weight reads q from the parameters of a media range; 1 if it is missing or
// malformed.
func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return q
			}
		}
	}
	return 1
}
