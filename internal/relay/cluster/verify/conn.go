package verify

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// patience is a little more than a node waits for the log.
const patience = 25 * time.Second

// Conn is a client's way to one node, wherever that listens now.
type Conn struct {
	Node int
	w    *World
	c    *client.Client // keeps connections, and makes those anew that are lost
}

// Conn is one to a node, of a client that does nothing else.
func (w *World) Conn(node int) Conn { return Conn{node, w, client.New(w.reader, client.Options{})} }

// Close ends all connections of the client.
func (c Conn) Close() { c.c.Close() }

func (c Conn) target() client.Target { return client.TargetsOf([]string{c.w.URL(c.Node)})[0] }

// Publish sends an event to a node and records what came of it.
func (w *World) Publish(c Conn, ev *nostr.Event) *Write { return w.publish(c, ev, 0) }

func (w *World) publish(c Conn, ev *nostr.Event, topic int) *Write {
	one := &Write{Event: ev, Node: c.Node, Start: time.Now(), topic: topic}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer := c.c.PublishTo(ctx, c.target(), ev, one.Start)
	one.End, one.Message = time.Now(), answer.Message
	refusal, said := errors.AsType[*client.RefusalError](answer.Err)
	switch {
	case answer.Err == nil:
		one.Outcome = Stored
	case !said:
		one.Message = answer.Err.Error()
	case !slices.Contains([]string{"error", "rate-limited"}, refusal.Prefix()):
		one.Outcome = Refused
	}
	w.note(one)
	return one
}

// admitted takes an event's id out of an answer. What was sent is signed by us: the id
// alone tells whether it is the same.
func admitted(raw json.RawMessage, filter nostr.Filter) (string, error) {
	col := client.Collector{Verified: func(string) bool { return true }}
	ev, err := col.Admit(raw, filter)
	if err != nil {
		return "", errors.Join(client.ErrMisbehaved, err)
	}
	return ev.ID, nil
}

// Query returns the ids of what a node shows. Without an error the answer is whole.
func (c Conn) Query(filter nostr.Filter) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	found := map[string]bool{}
	err := c.c.With(ctx, c.target(), func(conn *client.Conn) error {
		_, err := conn.Request(ctx, filter, func(raw json.RawMessage) error {
			id, err := admitted(raw, filter)
			found[id] = true
			return err
		})
		return err
	})
	return found, err
}
