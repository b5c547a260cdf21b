package verify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// settle is how long a subscription may take to bring what was acknowledged, and a node
// to answer in the end and show what the others do: it may stand still, or be cut off,
// for a while.
const settle = 90 * time.Second

// subscriber opens a subscription at a node, listens for a while, and leaves. What comes
// before EOSE has to be everything that was acknowledged anywhere before the REQ began,
// and what was acknowledged until it leaves has to come, however late.
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
	filter := nostr.Filter{Kinds: []int{nostr.KindTextNote}, Tags: nostr.TagMap{}, Limit: 5000}
	for t := from; t < from+10; t++ {
		filter.Tags["t"] = append(filter.Tags["t"], w.topicName(t))
	}
	q, began := conn.Question(), time.Now()
	defer q.Leave()
	frame, err := client.ReqFrame(q.ID, filter)
	if err != nil || q.Send(ctx, frame) != nil {
		return
	}
	got := map[string]bool{}
	missing := func(at time.Time) []string {
		return slices.DeleteFunc(w.before(at, from, from+10), func(id string) bool { return got[id] })
	}
	leaves := began.Add(time.Duration(1+a.IntN(4000)) * time.Millisecond)
	for eose := false; !eose || time.Now().Before(leaves) || len(missing(leaves)) > 0; {
		m, err := next(q, 100*time.Millisecond)
		switch late := time.Now().After(leaves.Add(settle)); {
		case m.Label == "CLOSED", err != nil && !errors.Is(err, client.ErrTimeout), w.quits() && time.Now().After(leaves):
			w.Count("subscriptions that were ended")
			return
		case late:
			w.Broken("a subscription at node %d, open since %v, has a gap: EOSE %t, and %d notes did not come", node, time.Since(began).Round(time.Millisecond), eose, len(missing(leaves)))
			return
		case m.Label == "EOSE":
			eose = true
			if n := len(missing(began)); n > 0 {
				w.Broken("a subscription at node %d got EOSE without %d notes that were acknowledged before", node, n)
			}
		case m.Label == "EVENT":
			id, err := admitted(m.Event, filter)
			if err != nil || got[id] {
				w.Broken("a subscription at node %d got %.8s twice, or what it did not ask for: %v", node, id, err)
			}
			got[id] = true
		}
	}
	w.Count("subscriptions")
}

// next waits so long for an answer.
func next(q *client.Question, long time.Duration) (client.Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	return q.Next(ctx, "")
}

func (w *World) quits() bool {
	select {
	case <-w.Quit:
		return true
	default:
		return false
	}
}
