package verify

import (
	"context"
	"errors"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// settle is how long a subscription may take to bring what was acknowledged, and a node
// to answer in the end: it may stand still, or be cut off, for a while.
const settle = 90 * time.Second

// subscription is one REQ that stays open.
type subscription struct {
	w      *World
	node   int
	q      *client.Question
	filter nostr.Filter
	began  time.Time
	got    map[string]bool
	eose   bool
	ended  bool // by CLOSED, or with the connection
}

// subscriber opens a subscription at a node, listens for a while, and leaves.
func (w *World) subscriber(a *Actor, node int) {
	c := w.Conn(node)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if w.reader.HasKey() {
		_, _ = c.Query(nostr.Filter{IDs: []string{w.reader.PubKey()}}) // proves it; who refuses it ends the subscription
	}
	conn, err := c.c.Connect(ctx, c.target())
	if err != nil {
		return
	}
	from := max(1, w.topic()-2)
	to := from + 10
	var topics []string
	for t := from; t < to; t++ {
		topics = append(topics, w.topicName(t))
	}
	s := &subscription{w: w, node: node, q: conn.Question(), began: time.Now(), got: map[string]bool{},
		filter: nostr.Filter{Kinds: []int{nostr.KindTextNote}, Tags: nostr.TagMap{"t": topics}, Limit: 5000}}
	defer s.q.Leave()
	frame, err := client.ReqFrame(s.q.ID, s.filter)
	if err != nil || s.q.Send(ctx, frame) != nil {
		return
	}
	stored := func() []string { return w.before(s.began, from, to) }
	s.listen(stored, time.Duration(1+a.IntN(4000))*time.Millisecond)
	need := w.before(time.Now(), from, to) // has to come, however late
	for limit := time.Now().Add(settle); !s.ended && time.Now().Before(limit) && len(s.missing(need)) > 0; {
		s.listen(stored, 100*time.Millisecond)
		select {
		case <-w.Quit:
			s.ended = true
		default:
		}
	}
	switch missing := s.missing(need); {
	case s.ended:
		w.Count("subscriptions that were ended")
	case len(missing) > 0:
		w.Broken("a subscription at node %d, open since %v, has a gap: %d of %d notes did not come, the first is %.8s", node, time.Since(s.began).Round(time.Millisecond), len(missing), len(need), missing[0])
	default:
		w.Count("subscriptions")
	}
}

// missing is what has not come of these, the EOSE counted as one.
func (s *subscription) missing(ids []string) (missing []string) {
	if !s.eose {
		missing = append(missing, "EOSE")
	}
	for _, id := range ids {
		if !s.got[id] {
			missing = append(missing, id)
		}
	}
	return missing
}

// listen takes frames for so long. What comes before EOSE has to be everything that was
// acknowledged anywhere before the REQ began.
func (s *subscription) listen(stored func() []string, long time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	for !s.ended {
		m, err := s.q.Next(ctx, "")
		if err != nil {
			s.ended = !errors.Is(err, client.ErrTimeout)
			return
		}
		switch m.Label {
		case "CLOSED":
			s.ended = true
		case "EOSE":
			s.eose = true
			if missing := s.missing(stored()); len(missing) > 0 {
				s.w.Broken("a subscription at node %d got EOSE without %d notes that were acknowledged before, the first is %.8s", s.node, len(missing), missing[0])
			}
		case "EVENT":
			id, err := admitted(m.Event, s.filter)
			if err != nil || s.got[id] {
				s.w.Broken("a subscription at node %d got %.8s twice, or what it did not ask for: %v", s.node, id, err)
			}
			s.got[id] = true
		}
	}
}
