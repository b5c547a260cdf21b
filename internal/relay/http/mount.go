package relayhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/httpauth"
	"engramd/nips/nip01"
)

// API is a further API on the relay's port. The bridge finds out who is asking
// and reads the body; the API decides what paths mean and what the answer is.
type API interface {
	// Route returns the resource at a path, given as its unescaped segments;
	// nil for none. It is called before anything else, so it must not read the
	// database.
	Route(segments []string) *Resource
	// Bearer returns the key (64 lower-case hex digits) that a bearer token
	// stands for, "" for a token that was never issued or is void.
	Bearer(ctx context.Context, token string) (key string, err error)
	// Use notes that a NIP-98 event, given by its id, signs a change by a key.
	// The errors are those of httpauth.Guard, and failures.
	Use(ctx context.Context, id, key string) error
	// Used reports whether a NIP-98 event certainly signed a change before.
	Used(id string) bool
}

// Resource is what a path names: its operations, by method, and its name in the
// metrics.
type Resource struct {
	Endpoint   string
	Operations map[string]Operation
	// Fixed says that the operations read nothing that is stored: they answer
	// where it is not known what is the latest.
	Fixed bool
}

// Operation answers one request with a status and a document. The error is a
// *Problem, or a failure whose text the caller does not see.
type Operation func(ctx context.Context, a *Asked) (status int, doc any, err error)

// Asked is one request that was admitted.
type Asked struct {
	Key      string // the caller's key, 64 lower-case hex digits; "" is nobody
	RawQuery string
	Body     []byte // only of a caller with a proof; else it is not read
	// Once accepts the proof of a change a single time, and never fails for a
	// bearer token. An operation that changes anything calls it once it knows
	// that the caller may make the change, and before making any of it.
	Once func(ctx context.Context) error
	// Fresh refuses a proof that is known to be used up. It does not use the
	// proof up.
	Fresh func() error
}

// maxBearer bounds the text of a bearer token.
const maxBearer = 512

// mounted is an API that is served below a path.
type mounted struct {
	in  *intake
	api API
}

// mount adds an API below a path ("/api/"), also behind the paths that the
// relay has in its public URLs.
func (h *Handler) mount(base, prefix string, m *mounted) {
	h.handle(base+prefix, func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if own := (&url.URL{Path: base}).EscapedPath(); strings.HasPrefix(path, own+prefix) {
			path = path[len(own):]
		}
		segments, ok := segmentsOf(path)
		var found *Resource
		if ok {
			found = m.api.Route(segments)
		}
		if found == nil {
			h.notFound(w, r)
			return
		}
		h.in.counted(w, found.Endpoint, func(w *statusWriter) { m.serveResource(w, r, path, found) })
	})
}

// segmentsOf unescapes the parts of a path one by one, so that a slash within
// one of them stays there.
func segmentsOf(path string) (segments []string, ok bool) {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		text, err := url.PathUnescape(part)
		if err != nil || text == "" {
			return nil, false
		}
		segments = append(segments, text)
	}
	return segments, true
}

func (m *mounted) serveResource(w *statusWriter, r *http.Request, path string, found *Resource) {
	methods := []string{http.MethodOptions}
	for m := range found.Operations {
		methods = append(methods, m)
	}
	slices.Sort(methods)
	apiHeaders(w.Header(), strings.Join(methods[:len(methods)-1], ", "))
	w.Header().Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	operate := found.Operations[r.Method]
	switch {
	case r.Method == http.MethodOptions:
		w.Header().Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	case operate == nil:
		w.Header().Set("Allow", strings.Join(methods, ", "))
		writeError(w, http.StatusMethodNotAllowed, "invalid: this path is asked with "+strings.Join(methods, ", "))
	default:
		asked := Asked{RawQuery: r.URL.RawQuery, Once: func(context.Context) error { return nil }, Fresh: func() error { return nil }}
		m.in.serveCall(w, r, path, m.openAdmission(&asked, found.Fixed), func(c *call) error {
			status, doc, err := operate(c.Context(), &asked)
			if err != nil {
				return operationFailed(m.in.log, c, err)
			}
			return m.in.answer(c, status, doc)
		})
	}
}

// operationFailed leaves problems as they are and hides every other error.
func operationFailed(log *slog.Logger, c *call, err error) error {
	var p *Problem
	if errors.As(err, &p) {
		return err
	}
	if c.Context().Err() == nil {
		log.Error("a request to an API failed", "err", err)
	}
	return failed(err)
}

// openAdmission admits callers with a proof, by NIP-98 or a bearer token, and
// callers who claim nothing: those without their body, and to few places. All
// that the API reads, tokens and names too, is as new as the request, unless it
// is for what is fixed.
func (m *mounted) openAdmission(asked *Asked, fixed bool) admission {
	return admission{
		identify: func(r *http.Request, path string) (signed, error) {
			if err := m.in.blocked(r); err != nil {
				return signed{}, err
			}
			if !fixed {
				if err := m.in.latest(r); err != nil {
					return signed{}, err
				}
			}
			return m.proof(r, path)
		},
		body:  maxBody,
		reads: true,
		slots: func(by signed) *fairness.Slots {
			if by.pubkey == "" {
				return m.in.pools.unproved
			}
			return m.in.pools.proved
		},
		check: func(c *call) error {
			asked.Key, asked.Body = c.signed.pubkey, c.body
			if c.signed.id == "" {
				return nil
			}
			asked.Once = func(ctx context.Context) error { return m.once(ctx, c.signed) }
			asked.Fresh = func() error {
				if m.api.Used(c.signed.id) {
					return m.unproved("replayed", httpauth.ErrUsed.Error())
				}
				return nil
			}
			return m.in.covered(c, m.in.pools.checking, m.badSignature)
		},
	}
}

// proof reads from the Authorization header who is asking. The id is empty for
// nobody and for a bearer, because neither signed the request.
func (m *mounted) proof(r *http.Request, path string) (signed, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		return signed{}, nil
	}
	scheme, rest, _ := strings.Cut(strings.TrimSpace(headers[0]), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer") && len(headers) == 1:
		key, err := m.bearer(r.Context(), strings.TrimSpace(rest))
		if err != nil {
			return signed{}, err
		}
		if key == "" {
			return signed{}, m.unproved("token", "this bearer token is not valid here")
		}
		return signed{pubkey: key}, nil
	case !strings.EqualFold(scheme, "Nostr") && len(headers) == 1:
		return signed{}, m.unproved("scheme", "the Authorization header is neither Nostr (NIP-98) nor Bearer")
	}
	return m.in.signer(r, path, m.in.pools.checking, m.badSignature)
}

// bearer looks up a token, in a place of the pool for requests without proof.
func (m *mounted) bearer(ctx context.Context, token string) (key string, err error) {
	if token == "" || len(token) > maxBearer {
		return "", nil
	}
	err = m.in.compute(ctx, m.in.pools.unproved, func() error {
		if key, err = m.api.Bearer(ctx, token); err != nil {
			m.in.log.Error("a bearer token could not be looked up", "err", err)
			return failed(err)
		}
		return nil
	})
	return key, err
}

func (m *mounted) unproved(reason, text string) error {
	m.in.metrics.HTTP.APIRefused(reason)
	return refused(nip01.PrefixAuthRequired, text)
}

func (m *mounted) badSignature(err error) error { return m.unproved("signature", err.Error()) }

func (m *mounted) once(ctx context.Context, by signed) error {
	switch err := m.api.Use(ctx, by.id, by.pubkey); {
	case err == nil:
		return nil
	case errors.Is(err, httpauth.ErrUsed):
		return m.unproved("replayed", err.Error())
	case errors.Is(err, httpauth.ErrBusy):
		m.in.metrics.HTTP.APIRefused("busy")
		return refused(nip01.PrefixRateLimited, err.Error())
	default:
		return err
	}
}
