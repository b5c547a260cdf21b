package localcopy

import (
	"crypto/sha256"
	"errors"
	"runtime"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// opened is an event that the agent signed, taken apart.
type opened struct {
	event
	text string
}

// opener takes an event apart; false if it is not one that the agent signed for
// this pair at one address.
type opener func(ev *nostr.Event) (opened, bool)

func openerOf(p Pair) opener {
	return func(ev *nostr.Event) (opened, bool) {
		engram, err := nipae.Open(p.Conversation, p.Agent, p.Owner, ev)
		o := opened{event: event{created: int64(ev.CreatedAt)}}
		var fine bool
		if o.id, fine = decodeID(ev.ID); !fine {
			return o, false
		}
		if o.d, fine = decodeID(ev.Tags.GetD()); !fine {
			return o, false
		}
		if err != nil {
			o.state, o.reason = unreadable, reasonOf(err)
			return o, isSigned(ev, err)
		}
		if p.Reversed && !nipae.IsExchange(engram.Slug()) {
			return o, false
		}
		o.slug = string(engram.Slug())
		text, ok := engram.Body.Text()
		if !ok {
			o.state = tombstone
			return o, true
		}
		sum := sha256.Sum256([]byte(text))
		o.text, o.size, o.hash = text, len(text), sum[:]
		return o, true
	}
}

// isSigned reports whether an event that cannot be read was signed by the agent
// for one address all the same: then it may hide a head, and counts.
func isSigned(ev *nostr.Event, err error) bool {
	return errors.Is(err, nipae.ErrUnreadable) || errors.Is(err, nipae.ErrBody) || errors.Is(err, nipae.ErrPayload) && wire.Verify(ev) == nil
}

// reasonOf is why an event cannot be read, in words that repeat nothing of it.
func reasonOf(err error) string {
	for _, known := range []error{nipae.ErrUnreadable, nipae.ErrBody, nipae.ErrPayload} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "it cannot be read"
}

// openAll opens events on all processors; what is not signed is nil.
func (m *Copy) openAll(events []*nostr.Event) []*opened {
	out := make([]*opened, len(events))
	var each sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(events))
	for w := range workers {
		each.Go(func() {
			for i := w; i < len(events); i += workers {
				if o, ok := m.open(events[i]); ok {
					out[i] = &o
				}
			}
		})
	}
	each.Wait()
	return out
}
