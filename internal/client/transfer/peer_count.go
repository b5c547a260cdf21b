package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// A connection that is kept may have died unseen: the next ping looks at it, and
	// it is not used twice.
	var conn *client.Conn
	err := p.step(ctx, func(ctx context.Context) (err error) {
		conn, err = p.c.Connect(ctx, p.t)
		return err
	})
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

// ErrNoCount means that a relay does not count (NIP-45), or not exactly.
var ErrNoCount = errors.New("the relay does not count (NIP-45)")

// Peers are the relays that a client asks now, as its Relays names them, over its
// connections, which it alone closes them. Those that only the
// agent's list names are told as little as by Ask: they are not counted at and
// not reconciled with.
func Peers(c *client.Client) []*Peer {
	var peers []*Peer
	for _, t := range c.Targets() {
		if t.Err == nil {
			peers = append(peers, &Peer{c: c, t: t, shared: true})
		}
	}
	return peers
}

// Count asks how many events the relay shows of a filter. ErrNoCount: it does
// not list NIP-45, or does not know exactly.
func (p *Peer) Count(ctx context.Context, f nostr.Filter) (int64, error) {
	if p.t.Listed {
		return 0, fmt.Errorf("%w: only the agent's list names it, and it is not told what is asked for", ErrNoCount)
	}
	counts, err := p.Supports(ctx, 45)
	if err != nil {
		return 0, err
	}
	if !counts {
		return 0, fmt.Errorf("%w: its information document does not list it", ErrNoCount)
	}
	var n int64
	err = p.step(ctx, func(ctx context.Context) error {
		return p.c.With(ctx, p.t, func(conn *client.Conn) (err error) {
			n, err = count(ctx, conn, f)
			return err
		})
	})
	return n, err
}

// CountBeyond counts what a client's relays show of a filter beside what they show
// of another that is part of it, as the relay with most has it, until ctx ends.
// -1: none counts.
func CountBeyond(ctx context.Context, c *client.Client, all, known nostr.Filter) int64 {
	peers := Peers(c)
	counts := make(chan int64, len(peers))
	for _, p := range peers {
		go func() {
			n, err := p.Count(ctx, all)
			if err == nil && n > 0 && len(known.Authors) > 0 {
				var k int64
				k, err = p.Count(ctx, known)
				n = max(0, n-k)
			}
			if err != nil {
				n = -1
			}
			counts <- n
		}()
	}
	most := int64(-1)
	for range peers {
		select {
		case n := <-counts:
			most = max(most, n)
		case <-ctx.Done():
			return most
		}
	}
	return most
}

// count sends a COUNT, with AUTH on demand.
func count(ctx context.Context, conn *client.Conn, f nostr.Filter) (n int64, err error) {
	err = conn.WithAuth(ctx, 0, false, func() (*client.RefusalError, error) {
		q := conn.Question()
		defer q.Leave()
		frame, err := json.Marshal([]any{"COUNT", q.ID, f})
		if err != nil {
			return nil, fmt.Errorf("encode filter: %w", err)
		}
		if err := q.Send(ctx, frame); err != nil {
			return nil, err
		}
		m, err := q.Next(ctx, "no COUNT", "COUNT", "CLOSED")
		if err == nil && m.Label == "CLOSED" {
			return m.Refusal(), nil
		}
		n = m.Count
		return nil, err
	})
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return 0, fmt.Errorf("%w exactly", ErrNoCount)
	}
	return n, nil
}
