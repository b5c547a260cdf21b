package relayhttp

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
	"engramd/nips/nip01"
)

// intake admits requests to the relay's port and answers what it does not admit.
type intake struct {
	relay      Relay
	backend    Backend  // may be nil
	sessions   Sessions // may be nil
	draining   atomic.Bool
	shares     *fairness.Shares
	pools      pools
	signatures signatures
	log        *slog.Logger
	metrics    *metrics.Metrics
}

// call is one request that is being admitted, or was.
type call struct {
	*http.Request // its context says who is asking, and which share is charged
	w             http.ResponseWriter
	body          []byte
	signed        signed
	limits        *Limits

	pools *pools
	slots *fairness.Slots // the pool in which it has a place, or had one
	place *fairness.Slot  // nil while it has none
	held  int64           // bytes of room
	leave func()          // its key's share
}

// admission says how requests of one kind are admitted. Its steps are taken in
// the order of the fields.
type admission struct {
	// identify finds out from the header alone who is asking; if it fails the
	// body is not read.
	identify func(r *http.Request, path string) (signed, error)
	body     int  // largest, in bytes
	reads    bool // the relay shows the key what it may read
	slots    func(signed) *fairness.Slots
	// check compares the body with the proof.
	check func(c *call) error
	// last decides when the request has its place; nil admits it.
	last func(c *call) error
}

// counted runs serve and counts the status it answers with.
func (in *intake) counted(w http.ResponseWriter, endpoint string, serve func(*statusWriter)) {
	sw := w.(*statusWriter) // of ServeHTTP
	sw.visit.endpoint = endpoint
	defer func() { in.metrics.HTTP.HTTPDone(endpoint, sw.status) }() // also when the answer is cut off
	serve(sw)
}

// serveCall admits a request, serves it, and answers what went wrong. A panic
// ends this request and nothing else.
func (in *intake) serveCall(w *statusWriter, r *http.Request, path string, a admission, serve func(*call) error) {
	c := &call{Request: r, w: w, limits: in.pools.limits.Load(), pools: &in.pools}
	defer c.end()
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
					panic(v)
				}
				in.log.Error("panic in a request", "path", path, "panic", v)
				err = refused(nip01.PrefixError, "the relay failed to answer")
			}
		}()
		if err := in.admit(c, path, a); err != nil {
			return err
		}
		return serve(c)
	}()
	if err == nil {
		return
	}
	if w.started {
		// Half an answer must not look like a whole one.
		panic(http.ErrAbortHandler)
	}
	refusedFor(r, err)
	in.answerProblem(w, err)
}

// admit finds out who is asking, reads the body, and waits for a place.
func (in *intake) admit(c *call, path string, a admission) (err error) {
	if in.draining.Load() {
		return refused(nip01.PrefixError, errDraining.Error())
	}
	if c.ContentLength > maxBody {
		return tooLarge(maxBody)
	}
	c.signed, err = a.identify(c.Request, path)
	signedBy(c.Request, c.signed.pubkey)
	if err != nil {
		return err
	}
	ctx := c.Context()
	if key := c.signed.pubkey; key != "" { // without a proof the body is not read: nothing that is allowed then needs one
		who, leave := in.shares.Prove(ctx, fairness.From(ctx), key)
		c.leave = leave
		ctx = fairness.With(ctx, who)
		if a.reads {
			ctx = relay.WithReader(ctx, gate.NewReader(key))
		}
		c.Request = c.WithContext(ctx)
		if err := in.readBody(c, a.body); err != nil {
			return err
		}
	}
	if err := a.check(c); err != nil {
		return err
	}
	c.slots = a.slots(c.signed)
	if c.place, err = c.slots.Acquire(ctx, fairness.From(ctx)); err != nil {
		c.place = nil
		return in.noPlace(err)
	}
	if err := in.resume(c); err != nil || a.last == nil {
		return err
	}
	return a.last(c)
}

// hold charges the call with a total of bytes, and reports whether there is
// room for them.
func (c *call) hold(bytes int64) bool {
	more := bytes - c.held
	if more <= 0 {
		return true
	}
	if !c.pools.room.Take(fairness.From(c.Context()), more) {
		return false
	}
	c.held = bytes
	return true
}

// yield gives the place back while bytes are on their way to the client, at the
// client's pace, and reports whether it did. If there is no room for the bytes
// the call keeps its place; the places of each share are bounded.
func (c *call) yield(bytes int) bool {
	if !c.hold(c.held + int64(bytes)) {
		return false
	}
	c.pause()
	return true
}

// pause gives the place back for a while.
func (c *call) pause() {
	c.place.Release()
	c.place = nil
}

// again waits for a place after the call has given its own back.
func (c *call) again() (err error) {
	if c.place != nil {
		return nil
	}
	if c.place, err = c.slots.Reacquire(c.Context(), fairness.From(c.Context())); err != nil {
		c.place = nil
	}
	return err
}

// end gives everything back.
func (c *call) end() {
	c.place.Release()
	c.pools.room.Give(fairness.From(c.Context()), c.held)
	c.held = 0
	if c.leave != nil {
		c.leave()
	}
}

// signedAdmission is for requests that must be signed (NIP-98).
func (in *intake) signedAdmission() admission {
	return admission{
		identify: func(r *http.Request, path string) (by signed, err error) {
			if err := in.blocked(r); err != nil {
				return by, err
			}
			return in.signer(r, path, in.pools.checking, unproved)
		},
		body:  maxBody,
		reads: true,
		slots: func(signed) *fairness.Slots { return in.pools.proved },
		check: func(c *call) error {
			return in.covered(c, in.pools.checking, unproved)
		},
	}
}

// unproved answers a proof that does not hold.
func unproved(err error) error { return refused(nip01.PrefixAuthRequired, err.Error()) }

// signer checks in one of the places who signed a request (NIP-98).
func (in *intake) signer(r *http.Request, path string, places *fairness.Slots, answer func(error) error) (by signed, err error) {
	err = in.compute(r.Context(), places, func() error {
		if by, err = in.signatures.check(r.Header.Values("Authorization"), r.Method, path, r.URL.RawQuery); err != nil {
			return answer(err)
		}
		return nil
	})
	return by, err
}

// latest waits until everything is here that any node acknowledged before the
// request came. It is for requests that read otherwise than through Backend, and
// is asked before anything is read for them.
func (in *intake) latest(r *http.Request) error {
	err := in.relay.Latest(r.Context())
	switch {
	case err == nil:
		return nil
	case r.Context().Err() == nil:
		in.metrics.HTTP.HTTPRefused("behind")
	}
	return failed(err)
}

// covered checks that the body is the one that was signed.
func (in *intake) covered(c *call, places *fairness.Slots, answer func(error) error) error {
	return in.compute(c.Context(), places, func() error {
		if err := c.signed.covers(c.body); err != nil {
			return answer(err)
		}
		return nil
	})
}

// blocked refuses requests from a blocked address (NIP-86).
func (in *intake) blocked(r *http.Request) error {
	if in.backend == nil || !in.backend.RejectsConnection(r) {
		return nil
	}
	in.metrics.HTTP.HTTPRefused("blocked")
	return refused(nip01.PrefixBlocked, "connection refused")
}

// open serves a document that needs no proof. The document is made in a place
// of the pool for requests without proof, and sent without a place.
func (in *intake) open(w http.ResponseWriter, r *http.Request, made func(http.Header, *http.Request) ([]byte, error)) {
	var body []byte
	err := in.blocked(r)
	if err == nil {
		err = in.compute(r.Context(), in.pools.unproved, func() (err error) {
			body, err = made(w.Header(), r)
			return err
		})
	}
	var p *Problem
	switch {
	case err == nil:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // a client that has gone needs no document
	case errors.As(err, &p):
		refusedFor(r, err)
		in.answerProblem(w, p)
	default:
		in.log.Error("a document could not be made", "err", err)
		writeError(w, http.StatusInternalServerError, "error: the document could not be made")
	}
}
