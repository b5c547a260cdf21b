package relayhttp

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/netip"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/httpauth"
	"engramd/nips/nip01"
)

// managementType is the Content-Type of NIP-86 calls.
const managementType = "application/nostr+json+rpc"

// maxManagement is the largest call in bytes.
const maxManagement = 64 << 10

// Management executes NIP-86 calls.
type Management interface {
	// Manages reports whether a key may make calls at all.
	Manages(key string) bool
	// Manage executes one call by such a key. auth is the id of the NIP-98
	// event that signed it, body the call. The text of an error starts with a
	// prefix.
	Manage(ctx context.Context, key, auth string, addr netip.Addr, body []byte) (result any, err error)
}

// managing admits calls by managing keys and has them executed.
type managing struct {
	in            *intake
	management    Management
	used          *httpauth.Guard
	usedElsewhere func(ctx context.Context, id, key string) error
}

// isManagement reports whether a request to the relay's URL is a call of NIP-86.
func isManagement(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.Method == http.MethodPost && err == nil && kind == managementType
}

// manage answers {"result": …}, or {"error": "prefix: text"} with the status of
// every other signed request.
func (m *managing) manage(w http.ResponseWriter, r *http.Request) {
	m.in.counted(w, "management", func(w *statusWriter) {
		apiHeaders(w.Header(), "GET, HEAD, POST")
		m.in.serveCall(w, r, "", m.managerAdmission(), func(c *call) error {
			result, err := m.management.Manage(c.Context(), c.signed.pubkey, c.signed.id, relay.AddrFrom(c.Context()), c.body)
			if err != nil {
				return failed(err)
			}
			return m.in.answer(c, http.StatusOK, map[string]any{"result": result})
		})
	})
}

// managerAdmission admits calls by managing keys: signed with their payload for
// this relay, now, and for the first time. The key is checked before the body,
// so that the body of a stranger is not read. A blocked address does not
// matter: a signature proves more than an address, and somebody must be able to
// lift a block. What the lists say is as new as the call.
func (m *managing) managerAdmission() admission {
	return admission{
		identify: m.identifyManager,
		body:     maxManagement,
		slots:    func(signed) *fairness.Slots { return m.in.pools.managing },
		check:    func(c *call) error { return m.in.covered(c, m.in.pools.managers, m.noManager) },
		last:     func(c *call) error { return m.once(c.Context(), c.signed) },
	}
}

func (m *managing) noManager(err error) error {
	m.in.metrics.Admin.AdminRefused("unauthorized")
	return unproved(err)
}

// identifyManager finds out whether a managing key signed. Signatures that
// claim to be by one have places of their own, so that others do not delay
// them. The answer does not confirm the claim before it is proved.
func (m *managing) identifyManager(r *http.Request, path string) (by signed, err error) {
	places := m.in.pools.checking
	if ev, err := authorizationEvent(r.Header.Values("Authorization")); err == nil && m.management.Manages(ev.PubKey) {
		places = m.in.pools.managers
	}
	switch by, err = m.in.signer(r, path, places, m.noManager); {
	case err != nil:
		return by, err
	case !m.management.Manages(by.pubkey):
		m.in.metrics.Admin.AdminRefused("stranger")
		return by, refused(nip01.PrefixRestricted, "this key does not manage this relay")
	case by.payload == nil:
		return by, m.noManager(errNoPayload)
	}
	return by, m.in.latest(r)
}

var errNoPayload = errors.New("there is no payload tag with the SHA-256 of the body")

// once accepts a signature a single time. Every call that changes something,
// other than by publishing an event, asks it last.
func (m *managing) once(ctx context.Context, by signed) error {
	err := m.used.Use(by.id, by.pubkey)
	if err == nil && m.usedElsewhere != nil {
		err = m.usedElsewhere(ctx, by.id, by.pubkey)
	}
	switch {
	case errors.Is(err, httpauth.ErrUsed):
		m.in.metrics.Admin.AdminRefused("replayed")
		return unproved(err)
	case err != nil:
		m.in.metrics.Admin.AdminRefused("busy")
		return refused(nip01.PrefixRateLimited, err.Error())
	}
	return nil
}
