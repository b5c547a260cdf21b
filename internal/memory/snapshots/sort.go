package snapshots

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/snapshot/bundle"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

// sorted puts what was listed and what was superseded into classes. A head is
// the newest at its address of those that were listed; what the history has
// that is newer was deleted somewhere, and is left out.
func (t *taking) sorted(list map[string]*nostr.Event, past []*nostr.Event) *Capture {
	out := &Capture{Agent: t.agent, Status: t.status()}
	gone := deletions(list, t.agent)
	heads := map[string]*nostr.Event{}
	var rest []*nostr.Event
	for _, ev := range list {
		switch {
		case (ev.Kind == kind.Vanish || ev.Kind == nostr.KindDeletion) && t.late(ev):
			if t.at.IsZero() {
				out.LeftOut++
			}
		case ev.Kind == kind.Vanish, ev.Kind == nostr.KindDeletion && !gone.has(ev):
			out.put(bundle.Deletions, ev)
		case gone.has(ev):
		case bundle.CheckShape(ev) != nil, t.late(ev):
			out.LeftOut++
		default:
			at := addressOf(ev)
			if old := heads[at]; !nipae.Newer(ev, old) {
				rest = append(rest, ev)
				continue
			} else if old != nil {
				rest = append(rest, old)
			}
			heads[at] = ev
		}
	}
	for _, ev := range heads {
		switch ev.Kind {
		case nipae.Kind:
			out.put(bundle.Heads, ev)
		case nostr.KindRelayListMetadata:
			out.put(bundle.Relays, ev)
		default:
			out.put(bundle.Contracts, ev)
		}
	}
	seen := map[string]bool{}
	for _, ev := range append(rest, past...) {
		head := heads[addressOf(ev)]
		switch {
		case ev.Kind == nostr.KindRelayListMetadata, seen[ev.ID], head != nil && head.ID == ev.ID, gone.has(ev):
		case bundle.CheckShape(ev) != nil, t.late(ev), head != nil && nipae.Newer(ev, head):
			out.LeftOut++
		default:
			out.put(bundle.History, ev)
		}
		seen[ev.ID] = true
	}
	return out
}

// late reports whether an event is dated after the instant of the capture.
func (t *taking) late(ev *nostr.Event) bool { return int64(ev.CreatedAt) > t.latest }

func (c *Capture) put(class bundle.Class, ev *nostr.Event) {
	c.events[class] = append(c.events[class], ev)
}

// addressOf returns what the versions of a record have in common (NIP-01).
func addressOf(ev *nostr.Event) string {
	d := ""
	if ev.Kind != nostr.KindRelayListMetadata {
		d = ev.Tags.GetD()
	}
	return strconv.Itoa(ev.Kind) + ":" + ev.PubKey + ":" + d
}

// deleted is what the agent's deletion requests name (NIP-09), and up to when
// it asked to vanish from all relays (NIP-62). A relay that has not heard of
// one may still show it.
type deleted struct {
	agent     string
	ids       map[string]bool
	addresses map[string]nostr.Timestamp
	vanished  bool
	until     nostr.Timestamp
}

func deletions(list map[string]*nostr.Event, agent string) deleted {
	gone := deleted{agent: agent, ids: map[string]bool{}, addresses: map[string]nostr.Timestamp{}}
	for _, ev := range list {
		switch {
		case ev.PubKey != agent:
		case ev.Kind == kind.Vanish && ev.Tags.FindWithValue("relay", "ALL_RELAYS") != nil:
			gone.vanished, gone.until = true, max(gone.until, ev.CreatedAt)
		case ev.Kind == nostr.KindDeletion:
			gone.take(ev)
		}
	}
	return gone
}

func (g deleted) take(request *nostr.Event) {
	for _, tag := range request.Tags {
		switch {
		case len(tag) > 1 && tag[0] == "e":
			g.ids[tag[1]] = true
		case len(tag) > 1 && tag[0] == "a" && ownAddress(tag[1], g.agent):
			g.addresses[tag[1]] = max(g.addresses[tag[1]], request.CreatedAt)
		}
	}
}

func ownAddress(address, agent string) bool {
	_, rest, ok := strings.Cut(address, ":")
	return ok && strings.HasPrefix(rest, agent+":")
}

func (g deleted) has(ev *nostr.Event) bool {
	if ev.PubKey != g.agent {
		return false
	}
	if g.vanished && ev.CreatedAt <= g.until {
		return true
	}
	if ev.Kind == nostr.KindDeletion { // NIP-09 does not delete deletion requests
		return false
	}
	until, named := g.addresses[addressOf(ev)]
	return g.ids[ev.ID] || named && ev.CreatedAt <= until
}

// perSecond is how many versions bear the time of one second at most. Memory is
// listed by pages that begin at a second: of one with more events than a relay
// has in a page (500 are common) the rest could never be listed again.
const perSecond = 400

// spread has a revert wait for the next second when one is full.
type spread struct {
	now    func() time.Time
	wait   func(context.Context, time.Duration) error
	second int64
	count  int
}

// made notes a version of a second, and waits until that is over if it is full.
// One that lies in the future, because what is there does, is not waited for.
func (s *spread) made(ctx context.Context, second int64) error {
	if s.second != second {
		s.second, s.count = second, 0
	}
	if s.count++; s.count < perSecond {
		return nil
	}
	if left := time.Unix(second+1, 0).Sub(s.now()); left > 0 && left <= time.Second {
		return s.wait(ctx, left)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
