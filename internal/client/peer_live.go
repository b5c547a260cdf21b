package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"
)

// livePing is how often a relay is asked for a sign of life while a live
// question is open, and how long that may take.
const livePing = 30 * time.Second

// Live asks for a filter and calls take with every event that answers it, what
// is stored first (Limit 0 with LimitZero: none), stored once that is over, and
// then goes on with what arrives, until ctx or the connection ends. Events may
// come twice. The error is never nil.
func (p *Peer) Live(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error, stored func()) error {
	return p.discreetly(f, take, func(q nostr.Filter, take func(*nostr.Event) error, prepare func(*conn) error) error {
		return p.live(ctx, q, take, stored, prepare)
	})
}

func (p *Peer) live(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error, stored func(), prepare func(*conn) error) error {
	conn, err := p.lively(ctx)
	if err != nil {
		return err
	}
	if err := prepare(conn); err != nil {
		return err
	}
	pinging, done := context.WithCancel(ctx)
	defer done()
	go conn.ping(pinging, livePing)
	for attempt := 1; ; attempt++ {
		if conn.authPending() {
			_ = p.step(ctx, func(ctx context.Context) error {
				_, err := conn.authSettled(ctx) // afterAuth looks whether it accepts us
				return err
			})
		}
		accepted := conn.authsAccepted()
		err := conn.follow(ctx, f, p.c.o.Limits, take, stored)
		var refusal *RefusalError
		if !errors.As(err, &refusal) {
			return err
		}
		var again bool
		authErr := p.step(ctx, func(ctx context.Context) (err error) {
			again, err = conn.afterAuth(ctx, accepted, refusal)
			return err
		})
		switch {
		case again && attempt < maxAttempts:
		case authErr != nil:
			return fmt.Errorf("%w (%w)", refusal, authErr)
		default:
			return refusal
		}
	}
}

// lively is a connection for a question that stays open. One that is kept may
// have died unseen: it is looked at by the next ping, and not used twice.
func (p *Peer) lively(ctx context.Context) (*conn, error) {
	var conn *conn
	err := p.step(ctx, func(ctx context.Context) (err error) {
		conn, _, err = p.c.acquire(ctx, p.t, nil)
		return err
	})
	return conn, err
}

// follow is one REQ that stays open.
func (c *conn) follow(ctx context.Context, f nostr.Filter, limits Limits, take func(*nostr.Event) error, stored func()) error {
	id, sub := c.subscribe()
	defer c.leave(id)
	frame, err := reqFrame(id, f)
	if err != nil {
		return fmt.Errorf("encode filter: %w", err)
	}
	if err := c.send(ctx, frame); err != nil {
		return err
	}
	col := &collector{}
	spent := budget{limits: limits}
	for {
		var m message
		select {
		case m = <-sub.answers:
		case <-c.done:
			return c.ended()
		case <-ctx.Done():
			go c.unsubscribe(id)
			return ctx.Err()
		}
		switch m.label {
		case "CLOSED":
			return &RefusalError{Message: printable(m.text)}
		case "EOSE":
			stored()
			continue
		}
		ev, err := col.admit(m.event, f)
		if err == nil {
			err = take(ev)
		} else {
			err = spent.reject(err)
		}
		if err != nil {
			go c.unsubscribe(id)
			return err
		}
	}
}

// ping ends a connection that gives no sign of life from one tick to the next.
func (c *conn) ping(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for asked := false; ; asked = true {
		select {
		case <-tick.C:
		case <-c.done:
			return
		case <-ctx.Done():
			return
		}
		select {
		case <-c.pongs:
		default:
			if asked {
				c.end(fmt.Errorf("%w: no sign of life", errLost))
				return
			}
		}
		_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(every)) // a dead connection ends at the next tick
	}
}
