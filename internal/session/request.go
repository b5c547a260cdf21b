package session

import (
	"errors"
	"strconv"
	"strings"

	"engramd/internal/gate"
	"engramd/internal/relay"
	"engramd/internal/store"
	"engramd/internal/wire"
)

var errTooManyKeys = errors.New("error: too many keys are proved on this connection")

// authRequired tells whether a text asks the client to authenticate (NIP-42).
func authRequired(text string) bool { return strings.HasPrefix(text, "auth-required:") }

// isEventFault tells whether a fault is that of an EVENT, whose answer waits for
// those before it and for nothing else.
func isEventFault(err error) bool {
	var f *wire.FrameError
	return errors.As(err, &f) && f.Label == wire.LabelEvent
}

// fault is the answer to a message that could not be read: to the event or the
// subscription it names, else a NOTICE.
func fault(err error) []byte {
	var f *wire.FrameError
	if !errors.As(err, &f) {
		f = &wire.FrameError{Reason: err.Error()}
	}
	text := "invalid: " + f.Reason
	switch {
	case f.EventID != "":
		return wire.AppendOK(nil, f.EventID, false, text)
	case f.SubID != "" && f.Label != wire.LabelClose:
		return wire.AppendClosed(nil, f.SubID, text)
	default:
		return wire.AppendNotice(nil, text)
	}
}

// refuse answers a message that could not be read.
func (e *effects) refuse(err error) {
	e.c.srv.metrics.FrameRefused("invalid")
	var f *wire.FrameError
	if errors.As(err, &f) && f.Label == wire.LabelReq {
		e.end(f.SubID) // CLOSED follows: nothing of this id is live after it
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
	if text := e.bounds(f); text != "" {
		e.closed(f.SubID, text)
		return
	}
	granted, err := e.c.srv.backend.Authorize(e.ctx, surface, f.Filters)
	if err != nil {
		e.closed(f.SubID, relay.ErrorText(err))
		return
	}
	if f.Label == wire.LabelCount {
		e.count(f.SubID, granted)
		return
	}
	e.subscribe(f.SubID, granted)
}

// liveShare is how many values a connection may have when the relay holds too
// many over all: enough for an agent and its owner.
const liveShare = 256

// bounds says which bound a request is over, if any, or that nothing is served
// any more.
func (e *effects) bounds(f wire.Frame) string {
	lim := e.c.srv.limits.Load()
	switch {
	case e.c.draining.Load():
		return "error: the relay is shutting down"
	case f.Label == wire.LabelCount:
		return ""
	case len(e.subs) >= lim.Subscriptions:
		e.c.srv.metrics.FrameRefused("subscriptions")
		return "error: too many subscriptions (at most " + strconv.Itoa(lim.Subscriptions) + "), close one first"
	case e.values+countValues(f.Filters) > liveShare && e.c.srv.values.Load() > int64(lim.LiveTotal):
		e.c.srv.metrics.FrameRefused("filters")
		return "error: the relay holds too many filter values for its clients, ask for fewer or try again later"
	case e.values+countValues(f.Filters) > lim.LiveValues:
		e.c.srv.metrics.FrameRefused("filters")
		return "error: too many filter values in all subscriptions of this connection (at most " +
			strconv.Itoa(lim.LiveValues) + "), close one first"
	}
	return ""
}

// closed is the answer to a request that is refused or failed.
func (e *effects) closed(id, text string) {
	e.challengeBefore(text)
	e.c.say(wire.AppendClosed(nil, id, text))
}

func (e *effects) count(id string, granted []relay.Granted) {
	n, err := e.c.srv.backend.Count(e.ctx, granted)
	if err != nil {
		e.closed(id, relay.ErrorText(err))
		return
	}
	e.c.say(wire.AppendCount(nil, id, n))
}

// subscribe registers the subscription, sends what is stored up to the present,
// EOSE, and what came meanwhile; from then on it is live.
func (e *effects) subscribe(id string, granted []relay.Granted) {
	s := newSubscription(e.c, id, granted)
	if e.subs == nil {
		e.subs = make(map[string]*subscription)
	}
	e.subs[id] = s
	e.values += s.values
	e.c.srv.values.Add(int64(s.values))
	e.c.srv.metrics.SubscriptionsAdd(1)
	e.c.srv.live.add(s)
	// Whatever is committed from here on finds the subscription; what was
	// committed before is in the store for every query.
	now := e.c.srv.backend.Now()
	s.ceiling.Store(now.Seq)
	hints, err := e.stored(s, granted, now)
	switch {
	case err == nil:
		if s.goLive(wire.AppendEOSE(nil, id, hints...)) {
			e.c.write()
		}
	case e.c.draining.Load():
		e.end(id)
		e.closed(id, "error: the relay is shutting down")
	default:
		e.end(id)
		if !errors.Is(err, errGone) {
			e.closed(id, relay.ErrorText(err))
		}
	}
}

// errGone says that there is nobody to answer any more.
var errGone = errors.New("the client is gone")

// stored sends the stored events page by page, as fast as the client reads.
func (e *effects) stored(s *subscription, granted []relay.Granted, now relay.Instant) (hints []string, err error) {
	st := e.c.srv.backend.Stored(e.ctx, granted, now)
	for done := false; !done; {
		if !e.pace() || e.c.in.isClosed() {
			return nil, errGone
		}
		var rows []store.Row
		rows, done, err = st.Next(e.ctx, pageRows, pageBytes)
		if err != nil {
			if e.c.ctx.Err() != nil {
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
		e.c.srv.metrics.StoredSent(len(rows))
	}
	if !e.c.srv.eoseHints {
		return nil, nil
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
	s, open := e.subs[id]
	if !open {
		return
	}
	delete(e.subs, id)
	e.values -= s.values
	e.c.srv.values.Add(-int64(s.values))
	s.end()
	e.c.srv.live.remove(s)
	e.c.srv.metrics.SubscriptionsAdd(-1)
}

// forget ends all subscriptions with the connection.
func (e *effects) forget() {
	for id := range e.subs {
		e.end(id)
	}
}
