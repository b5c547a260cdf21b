package websocket

import (
	"errors"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// failure returns a refusal for the relay's own sake.
func failure(text string) *nip01.Refusal {
	return &nip01.Refusal{Prefix: nip01.PrefixError, Text: text}
}

var (
	errTooManyKeys = failure("too many keys are proved on this connection")
	shuttingDown   = failure("the relay is shutting down")
)

// isEventFault reports whether a fault is that of an EVENT, whose answer waits
// for those before it and for nothing else.
func isEventFault(err error) bool {
	var f *wire.FrameError
	return errors.As(err, &f) && f.Label == wire.LabelEvent
}

// fault returns the answer to a message that could not be read: to the event or
// the subscription it names, else a NOTICE.
func fault(err error) []byte {
	var f *wire.FrameError
	if !errors.As(err, &f) {
		f = &wire.FrameError{Reason: err.Error()}
	}
	text := "invalid: " + f.Reason
	switch {
	case f.EventID != "":
		return wire.AppendOK(nil, f.EventID, false, text)
	case f.SubID != "" && (f.Label == wire.LabelNegOpen || f.Label == wire.LabelNegMsg):
		return wire.AppendNegErr(nil, f.SubID, text)
	case f.SubID != "" && (f.Label == wire.LabelReq || f.Label == wire.LabelCount):
		return wire.AppendClosed(nil, f.SubID, text)
	default:
		return wire.AppendNotice(nil, text)
	}
}

// refuse answers a message that could not be read.
func (e *effects) refuse(err error) {
	e.c.srv.o.Metrics.FrameRefused("invalid")
	e.c.record.logRefused("message", "invalid: "+err.Error())
	var f *wire.FrameError
	if errors.As(err, &f) && f.Label == wire.LabelReq {
		e.end(f.SubID) // CLOSED follows: nothing of this id is live after it
	}
	if f != nil && (f.Label == wire.LabelNegOpen || f.Label == wire.LabelNegMsg) {
		e.c.syncs.end(f.SubID, syncRefused) // NEG-ERR follows
	}
	e.c.say(fault(err))
}

// ask serves a REQ or COUNT, or answers why not.
func (e *effects) ask(f wire.Frame) {
	if e.c.in.isClosed() && !e.c.draining.Load() {
		return // nobody is there to be answered
	}
	surface := gate.SurfaceReq
	if f.Label == wire.LabelCount {
		surface = gate.SurfaceCount
	} else {
		e.end(f.SubID)
	}
	if why := bounds(e.c, f); why != nil {
		e.closed(f.Label, f.SubID, why)
		return
	}
	granted, err := e.authorize(surface, f.Filters)
	if err != nil {
		e.closed(f.Label, f.SubID, relay.RefusalOf(err))
		return
	}
	if f.Label == wire.LabelCount {
		e.count(f.SubID, granted)
		return
	}
	e.subscribe(f.SubID, granted)
}

// authorize asks what a request is granted. What contracts that it names show,
// and whether they are cases of the reader's, the store is asked. Who waits for
// the store, or for other nodes, keeps nobody else from computing.
func (e *effects) authorize(surface gate.Surface, filters []nostr.Filter) ([]relay.Granted, error) {
	if e.c.srv.o.Waits || slices.ContainsFunc(filters, gate.NamesContracts) {
		e.permit.Release()
		defer e.permit.Acquire(e.who)
	}
	return e.c.srv.backend.Authorize(e.asking, surface, filters)
}

// bounds reports which bound a request is over, if any, or that nothing is
// served any more.
func bounds(c *conn, f wire.Frame) *nip01.Refusal {
	lim := c.srv.limits.Load()
	switch {
	case c.draining.Load():
		return shuttingDown
	case c.srv.o.Pressed():
		c.srv.o.Metrics.FrameRefused("memory")
		return failure("the relay is short of memory, try again later")
	case f.Label != wire.LabelReq:
		return nil
	case len(c.feed.list()) >= lim.Subscriptions:
		c.srv.o.Metrics.FrameRefused("subscriptions")
		return failure("too many subscriptions (at most " + strconv.Itoa(lim.Subscriptions) + "), close one first")
	}
	return nil
}

// closed is the answer to a request that is refused or failed.
func (e *effects) closed(label, id string, why *nip01.Refusal) {
	text := why.Error()
	e.c.record.logRefused(label, text)
	e.challengeBefore(why)
	e.c.say(wire.AppendClosed(nil, id, text))
}

func (e *effects) count(id string, granted []relay.Granted) {
	e.permit.Release()
	n, err := e.c.srv.backend.Count(e.asking, granted)
	if err != nil {
		e.closed(wire.LabelCount, id, relay.RefusalOf(err))
		return
	}
	e.c.say(wire.AppendCount(nil, id, n))
}

// subscribe registers the subscription, sends what is stored up to the present,
// EOSE, and what came meanwhile; from then on it is live.
func (e *effects) subscribe(id string, granted []relay.Granted) {
	if why := hold(e.c.filters, footprint(granted)); why != nil {
		e.c.srv.o.Metrics.FrameRefused("filters")
		e.closed(wire.LabelReq, id, why)
		return
	}
	s := newSubscription(e.c, id, granted)
	e.c.srv.o.Metrics.SubscriptionsAdd(1)
	e.c.feed.add(s)
	// Whatever is committed from here on finds the subscription; what was
	// committed before is in the store for every query.
	now := e.c.srv.backend.Now()
	s.ceiling.Store(now.Seq)
	hints, err := e.stored(s, granted, now)
	var closed *nip01.Refusal
	switch {
	case err == nil:
		var start bool
		if start, closed = s.goLive(wire.AppendEOSE(nil, id, hints...)); start {
			e.c.write()
		}
	case e.c.draining.Load():
		closed = shuttingDown
	case errors.Is(err, errClosed):
		closed = s.closedFor()
	case !errors.Is(err, errGone):
		closed = relay.RefusalOf(err)
	}
	if err != nil || closed != nil {
		s.close(nil)
	}
	if closed != nil {
		e.closed(wire.LabelReq, id, closed)
	}
}

// hold takes the memory of a subscription, or says why there is none.
func hold(filters *fairness.Stake, bytes int64) *nip01.Refusal {
	switch filters.Take(bytes) {
	case fairness.OverConn:
		return failure("too many or too long filters in all subscriptions of this connection, close one first")
	case fairness.OverShare:
		return failure("too many or too long filters in all subscriptions from your address, close one first")
	case fairness.OverTotal:
		return failure("the relay holds too many filters for its clients, ask for less or try again later")
	}
	return nil
}

// errClosed means that the relay has closed the subscription meanwhile.
var errClosed = errors.New("the subscription is closed")

// errGone means that there is nobody to answer any more.
var errGone = errors.New("the client is gone")

// stored sends the stored events page by page, as fast as the client reads.
func (e *effects) stored(s *subscription, granted []relay.Granted, now relay.Instant) (hints []string, err error) {
	st := e.c.srv.backend.Stored(e.asking, granted, now)
	for done := false; !done; {
		if !e.pace() || e.c.in.isClosed() {
			return nil, errGone
		}
		if s.closedFor() != nil {
			return nil, errClosed
		}
		var rows []store.Row
		e.permit.Release()
		rows, done, err = st.Next(e.asking, pageRows, pageBytes)
		e.permit.Acquire(e.who)
		if err != nil {
			if e.asking.Err() != nil && !e.c.draining.Load() {
				return nil, errGone
			}
			return nil, err
		}
		for i := range rows {
			s.send(&rows[i])
		}
		if !done { // the last page goes with what follows it
			e.flush()
		}
		e.c.srv.o.Metrics.StoredSent(len(rows))
	}
	if lost := st.Damaged(); len(lost) > 0 {
		for _, one := range lost {
			e.c.say(wire.AppendNotice(nil, "error: "+relay.DamagedText+": subscription "+s.id+" lacks event "+one.String()))
		}
		return []string{"more", "damaged"}, nil
	}
	switch {
	case st.More():
		return []string{"more"}, nil
	case st.Complete():
		return []string{"finish"}, nil
	}
	return nil, nil
}

// end ends a subscription, if there is one of this id: nothing of it is sent
// after this returns.
func (e *effects) end(id string) {
	if s := e.c.feed.find(id); s != nil {
		s.close(nil)
	}
}
