package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// ErrNoCount means that a relay does not count (NIP-45), or not exactly.
var ErrNoCount = errors.New("the relay does not count (NIP-45)")

// Peers are the relays that are asked now, as Relays names them, over the
// connections of the client, which alone closes them. Those that only the
// agent's list names are told as little as by Ask: they are not counted at and
// not reconciled with.
func (c *Client) Peers() []*Peer {
	var peers []*Peer
	for _, t := range c.relays() {
		if t.err == nil {
			peers = append(peers, &Peer{c: c, t: t, shared: true})
		}
	}
	return peers
}

// Count asks how many events the relay shows of a filter. ErrNoCount: it does
// not list NIP-45, or does not know exactly.
func (p *Peer) Count(ctx context.Context, f nostr.Filter) (int64, error) {
	if p.t.listed {
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
		return p.c.with(ctx, p.t, func(conn *conn) (err error) {
			n, err = conn.count(ctx, f)
			return err
		})
	})
	return n, err
}

// count sends a COUNT, with AUTH on demand.
func (c *conn) count(ctx context.Context, f nostr.Filter) (int64, error) {
	if c.authPending() {
		_, _ = c.authSettled(ctx) // afterAuth looks whether it accepts us
	}
	for attempt := 1; ; attempt++ {
		accepted := c.authsAccepted()
		m, err := c.countOnce(ctx, f)
		if err != nil {
			return 0, err
		}
		var refusal *RefusalError
		if m.label == "CLOSED" {
			refusal = &RefusalError{Message: printable(m.text)}
		}
		again, err := c.afterAuth(ctx, accepted, refusal)
		switch {
		case again && attempt < maxAttempts:
			continue
		case refusal != nil && err != nil:
			return 0, fmt.Errorf("%w (%w)", refusal, err)
		case refusal != nil:
			return 0, refusal
		case err != nil:
			return 0, err
		case m.count < 0:
			return 0, fmt.Errorf("%w exactly", ErrNoCount)
		}
		return m.count, nil
	}
}

// countOnce sends the COUNT and returns the COUNT or CLOSED that answers it.
func (c *conn) countOnce(ctx context.Context, f nostr.Filter) (message, error) {
	id, sub := c.subscribe()
	defer c.leave(id)
	frame, err := json.Marshal([]any{"COUNT", id, f})
	if err != nil {
		return message{}, fmt.Errorf("encode filter: %w", err)
	}
	if err := c.send(ctx, frame); err != nil {
		return message{}, err
	}
	for {
		select {
		case m := <-sub.answers:
			if m.label == "COUNT" || m.label == "CLOSED" {
				return m, nil
			}
		case <-c.done:
			return message{}, c.ended()
		case <-ctx.Done():
			return message{}, fmt.Errorf("%w: no COUNT", ErrTimeout)
		}
	}
}
