package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// maxAttempts is how often one REQ or EVENT is sent on a connection: once, and
// again after each of two AUTHs that were accepted meanwhile.
const maxAttempts = 3

// request sends a REQ and calls take with each event that answers it, up to
// EOSE, which it returns. It answers AUTH on demand: a refusal that asks for
// it, and an answer given before our AUTH was judged, count for nothing, and
// the REQ is sent again. So take may be given the same events again.
//
// An error of take ends the request and is returned. A CLOSED is a
// *RefusalError. An AUTH that is refused by a relay that answers all the same
// is an ErrAuth: what it left out because of that is not known.
func (c *conn) request(ctx context.Context, f nostr.Filter, take func(json.RawMessage) error) (message, error) {
	if !isPublic(f) && c.authPending() {
		// An answer from before it has judged us would have to be asked for again.
		// The code below looks whether it accepts us.
		_, _ = c.authSettled(ctx)
	}
	for attempt := 1; ; attempt++ {
		accepted := c.authsAccepted()
		last, err := c.requestOnce(ctx, f, take)
		if err != nil {
			return message{}, err
		}
		refusal := (*RefusalError)(nil)
		if last.label == "CLOSED" {
			refusal = &RefusalError{Message: printable(last.text)}
		}
		if refusal == nil && isPublic(f) {
			return last, nil // AUTH would not have brought more
		}
		again, err := c.afterAuth(ctx, accepted, refusal)
		switch {
		case again && attempt < maxAttempts:
			continue
		case refusal != nil && err != nil && errors.Is(refusal, ErrAuth):
			return message{}, fmt.Errorf("%w (%w)", refusal, err)
		case refusal != nil:
			return message{}, refusal
		case err != nil:
			return message{}, err
		}
		return last, nil
	}
}

// isPublic reports whether a filter asks for what relays show everybody alike.
func isPublic(f nostr.Filter) bool {
	return len(f.Kinds) == 1 && f.Kinds[0] == nostr.KindRelayListMetadata
}

// afterAuth decides whether what was answered must be asked again, because an
// AUTH was accepted since there were accepted of them. It waits for one that is
// under way, and for a challenge to come if the refusal demands it. The error
// is why there is no AUTH.
func (c *conn) afterAuth(ctx context.Context, accepted int, refusal *RefusalError) (again bool, err error) {
	if refusal != nil && !refusal.asksAuth() || c.isShy() {
		return false, nil
	}
	demanded := refusal != nil && refusal.Prefix() == "auth-required"
	if !demanded && !c.wasChallenged() {
		return false, nil
	}
	now, err := c.authSettled(ctx)
	return now > accepted, err
}

// requestOnce sends the REQ and returns the EOSE or CLOSED that ends it.
func (c *conn) requestOnce(ctx context.Context, f nostr.Filter, take func(json.RawMessage) error) (message, error) {
	id, sub := c.subscribe()
	defer c.leave(id)
	frame, err := reqFrame(id, f)
	if err != nil {
		return message{}, fmt.Errorf("encode filter: %w", err)
	}
	if err := c.send(ctx, frame); err != nil {
		return message{}, err
	}
	for {
		var m message
		select {
		case m = <-sub.answers:
		default:
			select {
			case m = <-sub.answers:
			case <-c.done:
				// What came before the end still counts.
				select {
				case m = <-sub.answers:
				default:
					return message{}, c.ended()
				}
			case <-ctx.Done():
				go c.unsubscribe(id) // there is no time left to wait for it
				return message{}, fmt.Errorf("%w: no EOSE", ErrTimeout)
			}
		}
		switch m.label {
		case "CLOSED":
			return m, nil
		case "EOSE":
			c.unsubscribe(id)
			return m, nil
		}
		err := take(m.event)
		if err == nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: it was still sending", ErrTimeout)
		}
		if err != nil {
			go c.unsubscribe(id)
			return message{}, err
		}
	}
}

// unsubscribe sends a CLOSE if that can be done at once. A relay that does not
// read it only sends live events, which nobody looks at.
func (c *conn) unsubscribe(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := c.send(ctx, closeFrame(id)); err != nil {
		c.end(err)
	}
}

// How long an event waits that was refused as one too many (rate-limited:),
// before it is sent again: first, and at most.
const (
	firstPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// submit sends an EVENT and waits for its OK, with AUTH on demand. One that is
// over the relay's rate is sent again, later and later, while there is time:
// the relay has not looked at it. It returns the OK's text; a refusal is a
// *RefusalError.
func (c *conn) submit(ctx context.Context, ev *nostr.Event) (string, error) {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		text, err := c.submitOnce(ctx, ev)
		var refusal *RefusalError
		if !errors.As(err, &refusal) || refusal.Prefix() != "rate-limited" {
			return text, err
		}
		// Those that wait together must not come back together.
		pause := pause/2 + rand.N(pause/2)
		if at, bound := ctx.Deadline(); bound && time.Until(at) <= pause {
			return "", err
		}
		c.log.Debug("over the relay's rate", "again_in", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.done:
			timer.Stop()
			return "", c.ended()
		case <-ctx.Done():
			timer.Stop()
			return "", err
		}
	}
}

// submitOnce sends an EVENT, and again only after an AUTH.
func (c *conn) submitOnce(ctx context.Context, ev *nostr.Event) (string, error) {
	for attempt := 1; ; attempt++ {
		accepted := c.authsAccepted()
		text, err := c.deliverText(ctx, "EVENT", ev)
		var refusal *RefusalError
		if !errors.As(err, &refusal) || !refusal.asksAuth() {
			return text, err
		}
		again, authErr := c.afterAuth(ctx, accepted, refusal)
		if again && attempt < maxAttempts {
			continue
		}
		if authErr != nil {
			return "", fmt.Errorf("%w (%w)", refusal, authErr)
		}
		return "", refusal
	}
}
