package bridge

import (
	"errors"
	"net/http"
	"strconv"

	"engramd/internal/gate"
	"engramd/internal/relay"
	"engramd/internal/share"
	"engramd/nips/nip01"
)

// call is one request that is being let in, or was.
type call struct {
	*http.Request // its context carries who is asking, and to whom it is charged
	w             http.ResponseWriter
	body          []byte
	signed        signed
	limits        *Limits

	pools *pools
	slots *share.Slots // which it has a place in, or had
	place *share.Place // nil without one
	held  int64        // bytes of room
	leave func()       // its key's share
}

// door is a way to let requests in. What stands first is done first.
type door struct {
	// knock looks at the header alone and finds out who is asking; the body is
	// not read if that fails.
	knock func(r *http.Request, path string) (signed, error)
	body  int  // largest, in bytes
	reads bool // the relay shows the key what it may read
	slots func(signed) *share.Slots
	// check compares the body with the proof.
	check func(c *call) error
	// enter is asked last, when the request has its place; nil lets it in.
	enter func(c *call) error
}

// serveCall lets a request in, runs it and answers what went wrong. A panic
// ends this request and nothing else.
func (h *Handler) serveCall(w http.ResponseWriter, r *http.Request, path string, d door, serve func(*call) error) {
	sw := &startedWriter{ResponseWriter: w}
	c := &call{Request: r, w: sw, limits: h.pools.limits.Load(), pools: &h.pools}
	defer c.end()
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
					panic(v)
				}
				h.log.Error("panic in a request", "path", path, "panic", v)
				err = refused(nip01.PrefixError, "the relay failed to answer")
			}
		}()
		if err := h.letIn(c, path, d); err != nil {
			return err
		}
		return serve(c)
	}()
	if err == nil {
		return
	}
	if sw.started {
		// Half an answer must not look like a whole one.
		panic(http.ErrAbortHandler)
	}
	refusedFor(r, err)
	h.answerProblem(w, err)
}

// letIn finds out who is asking, reads the body, and waits for a place.
func (h *Handler) letIn(c *call, path string, d door) (err error) {
	if h.draining.Load() {
		return refused(nip01.PrefixError, errDraining.Error())
	}
	if c.ContentLength > maxBody {
		return tooLarge(maxBody)
	}
	c.signed, err = d.knock(c.Request, path)
	signedBy(c.Request, c.signed.pubkey)
	if err != nil {
		return err
	}
	ctx := c.Context()
	if key := c.signed.pubkey; key != "" { // nobody's body is not read: what nobody may do needs none
		who, leave := h.shares.Prove(ctx, share.From(ctx), key)
		c.leave = leave
		ctx = share.With(ctx, who)
		if d.reads {
			ctx = relay.WithReader(ctx, gate.NewReader(key))
		}
		c.Request = c.WithContext(ctx)
		if err := h.readBody(c, d.body); err != nil {
			return err
		}
	}
	if err := d.check(c); err != nil {
		return err
	}
	c.slots = d.slots(c.signed)
	if c.place, err = c.slots.Enter(ctx, share.From(ctx)); err != nil {
		c.place = nil
		return h.noPlace(err)
	}
	if d.enter == nil {
		return nil
	}
	return d.enter(c)
}

// hold charges the call with so many bytes in all, and reports whether there is
// room for them.
func (c *call) hold(bytes int64) bool {
	more := bytes - c.held
	if more <= 0 {
		return true
	}
	if !c.pools.room.Take(share.From(c.Context()), more) {
		return false
	}
	c.held = bytes
	return true
}

// yield gives the place back while so many bytes are on their way to the
// client, at the client's pace, and reports whether it did. Where there is no
// room for them it keeps the place: how many do is bounded, for each share.
func (c *call) yield(bytes int) bool {
	if !c.hold(c.held + int64(bytes)) {
		return false
	}
	c.pause()
	return true
}

// pause gives the place back for a while.
func (c *call) pause() {
	c.place.Leave()
	c.place = nil
}

// again waits for a place after the call has given its own back.
func (c *call) again() (err error) {
	if c.place != nil {
		return nil
	}
	if c.place, err = c.slots.Again(c.Context(), share.From(c.Context())); err != nil {
		c.place = nil
	}
	return err
}

// end gives everything back.
func (c *call) end() {
	c.place.Leave()
	c.pools.room.Give(share.From(c.Context()), c.held)
	c.held = 0
	if c.leave != nil {
		c.leave()
	}
}

// signedDoor is for requests that must be signed (NIP-98).
func (h *Handler) signedDoor() door {
	return door{
		knock: func(r *http.Request, path string) (by signed, err error) {
			if err := h.blocked(r); err != nil {
				return by, err
			}
			err = h.compute(r.Context(), h.pools.checking, func() error {
				if by, err = h.signatures.check(r.Header.Values("Authorization"), r.Method, path, r.URL.RawQuery); err != nil {
					return refused(nip01.PrefixAuthRequired, err.Error())
				}
				return nil
			})
			return by, err
		},
		body:  maxBody,
		reads: true,
		slots: func(signed) *share.Slots { return h.pools.proved },
		check: func(c *call) error {
			return h.covered(c, h.pools.checking, func(err error) error { return refused(nip01.PrefixAuthRequired, err.Error()) })
		},
	}
}

// covered compares the body with the one that was signed.
func (h *Handler) covered(c *call, places *share.Slots, answer func(error) error) error {
	return h.compute(c.Context(), places, func() error {
		if err := c.signed.covers(c.body); err != nil {
			return answer(err)
		}
		return nil
	})
}

// blocked refuses who comes from a blocked address (NIP-86).
func (h *Handler) blocked(r *http.Request) error {
	if h.backend == nil || !h.backend.RejectsConnection(r) {
		return nil
	}
	h.metrics.HTTPRefused("blocked")
	return refused(nip01.PrefixBlocked, "connection refused")
}

// open serves a document that asks for no proof. It is made in a place of those
// who prove nothing, and sent without.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, made func(http.Header, *http.Request) ([]byte, error)) {
	var body []byte
	err := h.blocked(r)
	if err == nil {
		err = h.compute(r.Context(), h.pools.unproved, func() (err error) {
			body, err = made(w.Header(), r)
			return err
		})
	}
	var p *Problem
	switch {
	case err == nil:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // a client that is gone needs no document
	case errors.As(err, &p):
		refusedFor(r, err)
		h.answerProblem(w, p)
	default:
		h.log.Error("a document could not be made", "err", err)
		writeError(w, http.StatusInternalServerError, "error: the document could not be made")
	}
}
