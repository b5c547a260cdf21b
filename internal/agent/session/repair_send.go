package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// SendAgain sends all that can be sent, byte for byte, to the relays that are written to,
// and notes what became of it. A relay that fails, or holds back by rate for longer than a
// minute or the time limit, gets nothing more, which is its error. Events are read as they
// are sent. The error is that of this machine's files.
func (l *Copy) SendAgain(ctx context.Context, all []*Missing) error {
	s := &resending{l: l, down: map[string]error{}}
	all = slices.DeleteFunc(slices.Clone(all), func(m *Missing) bool { return m.Fate != ToSend })
	for n := 0; len(all) > 0; all = all[n:] {
		for n = 1; n < min(len(all), repairLanes) && all[n].rank() == all[0].rank(); {
			n++
		}
		events := make([]*nostr.Event, n)
		var sending sync.WaitGroup
		for i, m := range all[:n] {
			sending.Go(func() { events[i] = s.send(ctx, m) })
		}
		sending.Wait()
		// What is stored is noted also where the person has interrupted it.
		if err := s.note(context.WithoutCancel(ctx), all[:n], events); err != nil {
			return err
		}
	}
	return nil
}

// resending is SendAgain at work.
type resending struct {
	l    *Copy
	mu   sync.Mutex
	down map[string]error // by URL
}

// send sends one event, which it returns; nil where it is not here any more.
func (s *resending) send(ctx context.Context, m *Missing) *nostr.Event {
	ev, c := m.Act, s.l.s.Client
	if m.Fate = Left; ev == nil {
		whole, err := s.l.s.known.At(context.WithoutCancel(ctx), m.D) // what became of it is told in any case
		if ev = whole.Event; err != nil || ev == nil || ev.ID != m.ID {
			return nil
		}
	}
	to := s.l.targets(ev)
	s.mu.Lock()
	for i := range to {
		to[i].Err = cmp.Or(to[i].Err, s.down[to[i].URL])
	}
	s.mu.Unlock()
	ctx, done := context.WithTimeout(ctx, max(c.Options().Timeout, ratePatience))
	defer done()
	m.Published, _ = c.PublishThose(ctx, to, ev, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Fate = Refused
	for _, status := range m.Published {
		if refusal, ok := errors.AsType[*client.RefusalError](status.Err); status.Err != nil && (!ok || refusal.Prefix() == "rate-limited") {
			s.down[status.URL], m.Fate = status.Err, Left
		}
	}
	return ev
}

// note keeps what relays took in the copy, and what they said of what they refused.
func (s *resending) note(ctx context.Context, all []*Missing, events []*nostr.Event) error {
	k, took := s.l.s.known, map[string][]*nostr.Event{}
	heads, err := k.heads(ctx)
	var ids []string
	for i, m := range all {
		by, gone := client.RemovedBy(m.Published)
		switch {
		case client.Accepted(m.Published) > 0:
			if m.Fate = WasSent; m.Act != nil {
				continue
			}
			for _, url := range client.TookIt(m.Published) {
				took[url] = append(took[url], events[i])
			}
			if ids = append(ids, m.ID); heads != nil && m.Removed.Relay != "" {
				err = cmp.Or(err, heads.Unlose(ctx, m.D))
			}
		case m.Act != nil:
		case by.Relay != "":
			if m.Fate = Removed; by.Expired {
				m.Fate = Expired
			}
			err = cmp.Or(err, k.Removed(ctx, m.Newest, by))
		case gone && s.l.s.Memory.Writable():
			if len(s.l.s.Memory.Unexplained(ctx, []client.Newest{m.Newest})) == 0 {
				m.Fate = Deleted
			}
		case gone: // an owner is not shown the request, and believes the relay
			m.Fate = Deleted
			err = cmp.Or(err, k.gone(ctx, nil, []client.Newest{m.Newest}))
		}
	}
	for url, batch := range took {
		_, putErr := s.l.Put(ctx, url, batch)
		err = cmp.Or(err, putErr)
	}
	s.l.s.settler.has(ctx, s.l.Copy, ids...)
	return err
}
