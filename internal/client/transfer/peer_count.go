package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

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
