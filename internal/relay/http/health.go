package relayhttp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"engramd/internal/relay/store"
)

const (
	probeEvery = time.Second     // the database is asked this often at most
	probeLimit = 5 * time.Second // and must answer within this
	tellEvery  = time.Minute     // while it takes no writes, the log says so this often
)

// probe asks the database whether it takes writes, at most once a second for
// all requests together: /readyz is open to the public, and a write is not
// free.
type probe struct {
	clock func() time.Time

	mu   sync.Mutex
	at   time.Time
	told time.Time // when a failure was logged last
	last error
	ever bool
}

// ready returns the database's answer, and whether it is news: the first
// failure after a success, or one that lasts.
func (p *probe) ready(ctx context.Context, ask func(context.Context) error) (err error, news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	if p.ever && now.Sub(p.at) < probeEvery && !now.Before(p.at) {
		return p.last, false
	}
	// The request's context does not end it: the answer is for everybody who
	// waits.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
	defer cancel()
	before := p.last
	p.last, p.at, p.ever = ask(ctx), p.clock(), true
	if p.last != nil && (before == nil || now.Sub(p.told) >= tellEvery || now.Before(p.told)) {
		p.told, news = now, true
	}
	return p.last, news
}

// healthz answers 200 as long as the process answers at all.
func (h *Handler) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// Ready reports whether events would be taken: the database is writable, has
// room for one, the clock is not behind, and the daemon is not shutting down.
func (h *Handler) Ready(ctx context.Context) error {
	if h.in.draining.Load() {
		return errDraining
	}
	err, news := h.probe.ready(ctx, h.takes)
	if news {
		h.log.Warn("not ready", "err", err)
	}
	if err != nil && !errors.Is(err, errLate) && !errors.Is(err, store.ErrUnsynced) {
		return errUnwritable
	}
	return err
}

// takes asks the database, the clock, and whether the log keeps what it takes.
func (h *Handler) takes(ctx context.Context) error {
	err := h.in.relay.Ready(ctx)
	if err == nil && h.late != nil && h.late() {
		err = errLate
	}
	if err == nil && h.ails != nil {
		_, err = h.ails()
	}
	return err
}

// readyz answers with the result of Ready.
func (h *Handler) readyz(w http.ResponseWriter, r *http.Request) {
	if err := h.Ready(r.Context()); err != nil {
		writeError(w, http.StatusServiceUnavailable, "error: "+err.Error())
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	answer := map[string]string{"status": "ready"}
	if h.ails != nil {
		if what, _ := h.ails(); what != "" {
			answer["log"] = what
		}
	}
	writeJSON(w, http.StatusOK, answer)
}

// The answers of /readyz; the database's own words stay in the log.
var (
	errDraining   = errors.New("the relay is shutting down")
	errUnwritable = errors.New("the database takes no writes")
	errLate       = errors.New("the clock is behind what has arrived: writes would be refused as from the future")
)
