package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// kindRelayList is the list of a key's relays (NIP-65).
const kindRelayList = 10002

// errUnsure is what a relay failed with that may know of a relay list.
var errUnsure = errors.New("it may know a list of the agent's relays")

// Discover looks for the agent's relay list (NIP-65, kind 10002) on the
// configured relays. If it names relays that the agent writes to (marked write,
// or not marked; valid ws and wss URLs only), those are asked from now on,
// instead of the configured ones and as they are written there; 32 at most. If
// there is no list, the configured ones are asked.
//
// agent is a public key in hex. Where the context has a deadline, half of the
// time left is used at most: something is to be asked afterwards.
//
// The error is ErrNoRelay when no relay answered. If others failed, that is no
// error here, whether or not a list was found; but from then on every Status is
// partial, and nothing is said to be absent: there may be a newer list, and the
// memory may lie on relays that are not known.
func (c *Client) Discover(ctx context.Context, agent string) error {
	if !nostr.IsValid32ByteHex(agent) {
		return fmt.Errorf("agent: %w", nipae.ErrKey)
	}
	if _, limited := ctx.Deadline(); limited {
		half, cancel := part(ctx, 0.5)
		defer cancel()
		ctx = half
	}
	ctx, cancel := c.operation(ctx)
	defer cancel()
	c.use(targetsOf(c.o.Relays), nil)
	a, err := c.ask(ctx, nostr.Filter{Kinds: []int{kindRelayList}, Authors: []string{agent}})
	var unsure []RelayStatus
	for _, r := range a.Relays {
		if r.failed() || !r.Complete {
			r.Err = unsureOf(r)
			unsure = append(unsure, r)
		}
	}
	if urls, listed := nipae.ConfiguredRelays(agent, a.Events, nil); listed {
		found := targetsOf(urls)
		for _, t := range found[min(maxRelays, len(found)):] {
			// Asking some of them only must not pass for asking all.
			unsure = append(unsure, RelayStatus{URL: t.url, Err: errors.New("not asked: the agent's list is too long")})
		}
		c.use(found[:min(maxRelays, len(found))], unsure)
		return nil
	}
	c.use(targetsOf(c.o.Relays), unsure)
	return err
}

// use sets the relays that are asked.
func (c *Client) use(targets []target, unsure []RelayStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.targets, c.unsure = targets, unsure
}

// Doubts are why the relays that are asked may not be those of the agent's
// newest list, or not all of them: relays that failed when Discover asked them
// for it, and those that are too many.
func (c *Client) Doubts() []RelayStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsure
}

// unsureOf says what it means that a relay failed.
func unsureOf(r RelayStatus) error {
	if r.Err == nil {
		return errUnsure
	}
	return fmt.Errorf("%w: %w", errUnsure, r.Err)
}
