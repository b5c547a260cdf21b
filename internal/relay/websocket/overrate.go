package websocket

import (
	"sync/atomic"
	"time"

	"engramd/internal/relay"
	"engramd/nips/nip01"
)

// How long a connection is not read from after an event that was over a rate:
// first, and at most. It is far less than what a rate's burst makes up for.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = time.Second
)

// overRate holds back a connection whose events are over a rate
// (rate-limited:). To refuse one costs almost what it costs to take it, so who
// goes on at once is read more and more slowly; one that is taken ends that.
type overRate struct {
	until atomic.Int64  // not read from before, in Unix nanoseconds
	pause time.Duration // the last one; of effects
}

// answered notes the answer to an event.
func (o *overRate) answered(a relay.Answer, now time.Time) {
	switch {
	case a.OK:
		o.pause = 0
	case !a.Why.Has(nip01.PrefixRateLimited):
	case now.UnixNano() >= o.until.Load():
		o.pause = min(max(2*o.pause, firstPause), mostPause)
		o.until.Store(now.Add(o.pause).UnixNano())
	}
}

// wait returns how long the connection is not to be read from.
func (o *overRate) wait(now time.Time) time.Duration {
	return time.Duration(max(o.until.Load()-now.UnixNano(), 0))
}
