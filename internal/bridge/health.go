package bridge

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	probeEvery = time.Second     // the database is asked this often at most
	probeLimit = 5 * time.Second // and must answer within this
)

// probe asks the database whether it takes writes, at most once a second
// whoever asks: /readyz is open to the public, a write is not free.
type probe struct {
	clock func() time.Time

	mu   sync.Mutex
	at   time.Time
	last error
	ever bool
}

func (p *probe) ready(ctx context.Context, ask func(context.Context) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock(); !p.ever || now.Sub(p.at) >= probeEvery || now.Before(p.at) {
		// Not the request's context: the answer is for everybody who waits.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
		defer cancel()
		p.last, p.at, p.ever = ask(ctx), p.clock(), true
	}
	return p.last
}

// healthz says that the process answers.
func (h *Handler) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
}

// Ready reports whether events would be taken: the database is writable and
// the daemon is not shutting down.
func (h *Handler) Ready(ctx context.Context) error {
	if h.draining.Load() {
		return errDraining
	}
	if err := h.probe.ready(ctx, h.relay.Ready); err != nil {
		h.log.Warn("not ready", "err", err)
		return errUnwritable
	}
	return nil
}

// readyz answers what Ready says.
func (h *Handler) readyz(w http.ResponseWriter, r *http.Request) {
	if err := h.Ready(r.Context()); err != nil {
		writeError(w, http.StatusServiceUnavailable, "error: "+err.Error())
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ready"})
}

// What /readyz says; the database's own words stay in the log.
var (
	errDraining   = errors.New("the relay is shutting down")
	errUnwritable = errors.New("the database takes no writes")
)
