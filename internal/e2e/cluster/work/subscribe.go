package work

import (
	"context"
	"time"

	"engramd/internal/e2e/relaytest"
)

// settle is how long a subscription may take to bring what was acknowledged: a
// node may stand still, or be cut off, for a while.
const settle = 90 * time.Second

// subscription is one REQ that stays open.
type subscription struct {
	w       *World
	c       *relaytest.Client
	node    int
	id      string
	topics  []string
	began   time.Time
	got     map[string]bool
	eose    bool
	ended   bool // by CLOSED, or with the connection
	missing []string
}

// subscriber opens a subscription at a node, listens for a while, and leaves.
func (w *World) subscriber(a *actor, node int) {
	c, err := relaytest.Connect(w.URL(node), nil)
	if err != nil {
		return
	}
	defer c.Close()
	now := w.topic(time.Now())
	s := &subscription{w: w, c: c, node: node, id: "s", began: time.Now(), got: map[string]bool{}}
	for t := max(0, now-2); t < now+8; t++ {
		s.topics = append(s.topics, w.topicName(t))
	}
	if c.Send("REQ", s.id, relaytest.Filter{"kinds": []int{relaytest.KindNote}, "#t": s.topics, "limit": 5000}) != nil {
		return
	}
	s.listen(time.Now().Add(time.Duration(1+a.IntN(4000)) * time.Millisecond))
	if s.ended {
		w.Count("subscriptions that were ended")
		return
	}
	// What was acknowledged by now has to come, however late.
	need := w.before(time.Now(), s.topics)
	for limit := time.Now().Add(settle); !s.ended && time.Now().Before(limit) && !s.has(need); {
		s.listen(time.Now().Add(100 * time.Millisecond))
	}
	switch {
	case s.ended:
		w.Count("subscriptions that were ended")
	case !s.has(need):
		w.Broken("a subscription at node %d, open since %v, has a gap: %d of %d notes did not come, the first is %.8s", node, time.Since(s.began).Round(time.Millisecond), len(s.missing), len(need), s.missing[0])
	default:
		w.Count("subscriptions")
	}
}

func (s *subscription) has(ids []string) bool {
	s.missing = nil
	for _, id := range ids {
		if !s.got[id] {
			s.missing = append(s.missing, id)
		}
	}
	return s.eose && len(s.missing) == 0
}

// listen takes frames until a time.
func (s *subscription) listen(until time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	for !s.ended {
		f, err := s.c.WaitContext(ctx, relaytest.ForSub(s.id))
		if err != nil {
			s.ended = ctx.Err() == nil
			return
		}
		switch f.Label {
		case "CLOSED":
			s.ended = true
		case "EOSE":
			s.stored()
		case "EVENT":
			ev := f.Event()
			if ev == nil {
				s.w.Broken("node %d sent no event: %.100s", s.node, f.Raw)
				return
			}
			if s.got[ev.ID] {
				s.w.Broken("a subscription at node %d got %.8s twice", s.node, ev.ID)
			}
			s.got[ev.ID] = true
		}
	}
}

// stored judges what came before EOSE: everything that was acknowledged anywhere
// before the REQ began.
func (s *subscription) stored() {
	s.eose = true
	if !s.has(s.w.before(s.began, s.topics)) {
		s.w.Broken("a subscription at node %d got EOSE without %d notes that were acknowledged before, the first is %.8s", s.node, len(s.missing), s.missing[0])
	}
}
