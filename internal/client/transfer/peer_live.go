package transfer

import (
	"context"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// livePing is how often a relay is asked for a sign of life while a live
// question is open, and how long that may take.
const livePing = 30 * time.Second

// Live asks for a filter and calls take with every event that answers it, what
// is stored first (Limit 0 with LimitZero: none), stored once that is over, and
// then goes on with what arrives, until ctx or the connection ends. Events may
// come twice. The error is never nil.
func (p *Peer) Live(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error, stored func()) error {
	return p.discreetly(f, take, func(q nostr.Filter, take func(*nostr.Event) error, prepare func(*client.Conn) error) error {
		return p.live(ctx, q, take, stored, prepare)
	})
}

func (p *Peer) live(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error, stored func(), prepare func(*client.Conn) error) error {
	conn, err := p.lively(ctx)
	if err != nil {
		return err
	}
	if err := prepare(conn); err != nil {
		return err
	}
	pinging, done := context.WithCancel(ctx)
	defer done()
	go conn.Ping(pinging, livePing)
	return conn.WithAuth(ctx, p.c.Options().Timeout, false, func() (*client.RefusalError, error) {
		return follow(ctx, conn, f, p.c.Options().Limits, take, stored)
	})
}

// lively is a connection for a question that stays open. One that is kept may
// have died unseen: it is looked at by the next ping, and not used twice.
func (p *Peer) lively(ctx context.Context) (*client.Conn, error) {
	var conn *client.Conn
	err := p.step(ctx, func(ctx context.Context) (err error) {
		conn, err = p.c.Connect(ctx, p.t)
		return err
	})
	return conn, err
}

// follow is one REQ that stays open, until the relay refuses it or something
// fails.
func follow(ctx context.Context, conn *client.Conn, f nostr.Filter, limits client.Limits, take func(*nostr.Event) error, stored func()) (*client.RefusalError, error) {
	q := conn.Question()
	defer q.Leave()
	frame, err := client.ReqFrame(q.ID, f)
	if err != nil {
		return nil, err
	}
	if err := q.Send(ctx, frame); err != nil {
		return nil, err
	}
	col := &client.Collector{}
	spent := client.Budget{Limits: limits}
	for {
		m, err := q.Next(ctx, "")
		if ctx.Err() != nil {
			go q.Unsubscribe()
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		switch m.Label {
		case "CLOSED":
			return m.Refusal(), nil
		case "EOSE":
			stored()
			continue
		}
		ev, err := col.Admit(m.Event, f)
		if err == nil {
			err = take(ev)
		} else {
			err = spent.Reject(err)
		}
		if err != nil {
			go q.Unsubscribe()
			return nil, err
		}
	}
}
