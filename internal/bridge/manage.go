package bridge

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/netip"

	"engramd/internal/gate"
	"engramd/internal/relay"
	"engramd/internal/replay"
)

// managementType is the Content-Type of calls of NIP-86.
const managementType = "application/nostr+json+rpc"

// maxManagement is the largest call in bytes.
const maxManagement = 64 << 10

// Management carries out calls of NIP-86.
type Management interface {
	// Manages reports whether a key may call at all.
	Manages(key string) bool
	// Manage carries out one call of such a key: what it is, auth being the id of
	// the NIP-98 event that signed it. The text of an error starts with a prefix.
	Manage(ctx context.Context, key, auth string, addr netip.Addr, body []byte) (result any, err error)
}

// isManagement reports whether a request to the relay's URL is a call of NIP-86.
func isManagement(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.Method == http.MethodPost && err == nil && kind == managementType
}

// manage answers {"result": …}, or {"error": "prefix: text"} with the status of
// every other signed request.
func (h *Handler) manage(w http.ResponseWriter, r *http.Request) {
	h.counted(w, "management", func(w http.ResponseWriter) {
		apiHeaders(w.Header(), "GET, HEAD, POST")
		h.serveCall(w, r, "", h.admitManager, func(c *call) error {
			result, err := h.management.Manage(c.Context(), c.signed.pubkey, c.signed.id, relay.AddrFrom(c.Context()), c.body)
			if err != nil {
				return refused(err.Error())
			}
			h.answer(c, map[string]any{"result": result})
			return nil
		})
	})
}

// admitManager lets in a call of a managing key: signed, with its payload, for
// this relay, now, and for the first time. The key is looked at before the body,
// so that a stranger's is not read. A blocked address is no hindrance: a signature
// proves more than an address, and somebody must be able to lift a block.
func (h *Handler) admitManager(w http.ResponseWriter, r *http.Request, path string) (*call, error) {
	unauthorized := func(why string, err error) error {
		h.metrics.AdminRefused(why)
		return refused(gate.PrefixAuthRequired + ": " + err.Error())
	}
	by, err := h.signatures.check(r.Header.Values("Authorization"), r.Method, path, r.URL.RawQuery)
	if err != nil {
		return nil, unauthorized("unauthorized", err)
	}
	if !h.management.Manages(by.pubkey) {
		h.metrics.AdminRefused("stranger")
		return nil, refused(gate.PrefixRestricted + ": this key does not manage this relay")
	}
	if by.payload == nil {
		return nil, unauthorized("unauthorized", errNoPayload)
	}
	body, err := readBody(w, r, maxManagement)
	if err != nil {
		h.metrics.AdminRefused("too_large")
		return nil, err
	}
	if err := by.covers(body); err != nil {
		return nil, unauthorized("unauthorized", err)
	}
	if err := h.once(by); err != nil {
		return nil, err
	}
	return &call{Request: r, w: w, body: body, signed: by, limits: h.slots.limits.Load()}, nil
}

var errNoPayload = errors.New("there is no payload tag with the SHA-256 of the body")

// once lets a signature through a single time. Every call that changes
// something, other than by publishing an event, asks it last.
func (h *Handler) once(by signed) error {
	switch err := h.used.Use(by.id, by.pubkey); {
	case errors.Is(err, replay.ErrUsed):
		h.metrics.AdminRefused("replayed")
		return refused(gate.PrefixAuthRequired + ": " + err.Error())
	case err != nil:
		h.metrics.AdminRefused("busy")
		return refused("rate-limited: " + err.Error())
	}
	return nil
}
