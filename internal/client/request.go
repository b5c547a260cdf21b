package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// maxAttempts is how often one REQ or EVENT is sent on a connection: once, and
// again after each of two AUTHs that were accepted meanwhile.
const maxAttempts = 3

// Request sends a REQ and calls take with each event that answers it, up to
// EOSE, which it returns. It answers AUTH on demand: a refusal that asks for
// it, and an answer given before our AUTH was judged, count for nothing, and
// the REQ is sent again. So take may be given the same events again.
//
// An error of take ends the request and is returned. A CLOSED is a
// *RefusalError. An AUTH that is refused by a relay that answers all the same
// is an ErrAuth: what it left out because of that is not known.
func (c *Conn) Request(ctx context.Context, f nostr.Filter, take func(json.RawMessage) error) (Message, error) {
	var last Message
	public := len(f.Kinds) == 1 && f.Kinds[0] == nostr.KindRelayListMetadata // relays show everybody the same
	err := c.WithAuth(ctx, 0, public, func() (refusal *RefusalError, err error) {
		if last, err = c.requestOnce(ctx, f, take); last.Label == "CLOSED" {
			refusal = last.Refusal()
		}
		return refusal, err
	})
	if err != nil {
		return Message{}, err
	}
	return last, nil
}

// WithAuth calls ask, and again after each AUTH that the relay accepted
// meanwhile: what it answered before counts for nothing. public: everybody gets
// the same answer, and AUTH brings no more. patience bounds each wait for an
// AUTH; 0 is ctx alone. An error of ask ends it and is returned.
func (c *Conn) WithAuth(ctx context.Context, patience time.Duration, public bool, ask func() (*RefusalError, error)) error {
	if patience == 0 {
		patience = math.MaxInt64
	}
	if !public && c.authNow().pending {
		// An answer from before it has judged us would have to be asked for again.
		// The code below looks whether it accepts us.
		waiting, done := context.WithTimeout(ctx, patience)
		_, _ = c.authSettled(waiting)
		done()
	}
	for attempt := 1; ; attempt++ {
		accepted := c.authNow().accepted
		refusal, err := ask()
		if err != nil {
			return err
		}
		if refusal == nil && public {
			return nil // AUTH would not have brought more
		}
		waiting, done := context.WithTimeout(ctx, patience)
		again, err := c.afterAuth(waiting, accepted, refusal)
		done()
		switch {
		case again && attempt < maxAttempts:
			continue
		case refusal != nil && err != nil:
			return fmt.Errorf("%w (%w)", refusal, err)
		case refusal != nil:
			return refusal
		}
		return err
	}
}

// afterAuth decides whether what was answered must be asked again, because an
// AUTH was accepted since there were accepted of them. It waits for one that is
// under way, and for a challenge to come if the refusal demands it. The error
// is why there is no AUTH.
func (c *Conn) afterAuth(ctx context.Context, accepted int, refusal *RefusalError) (again bool, err error) {
	if refusal != nil && !refusal.AsksAuth() || c.authNow().shy {
		return false, nil
	}
	demanded := refusal != nil && refusal.Prefix() == "auth-required"
	if !demanded && c.authNow().challenge == "" {
		return false, nil
	}
	now, err := c.authSettled(ctx)
	return now > accepted, err
}

// requestOnce sends the REQ and returns the EOSE or CLOSED that ends it.
func (c *Conn) requestOnce(ctx context.Context, f nostr.Filter, take func(json.RawMessage) error) (Message, error) {
	q := c.Question()
	defer q.Leave()
	frame, err := ReqFrame(q.ID, f)
	if err != nil {
		return Message{}, err
	}
	if err := c.send(ctx, frame); err != nil {
		return Message{}, err
	}
	for {
		m, err := q.Next(ctx, "no EOSE")
		if err != nil {
			if errors.Is(err, ErrTimeout) {
				go q.Unsubscribe() // there is no time left to wait for it
			}
			return Message{}, err
		}
		switch m.Label {
		case "CLOSED":
			return m, nil
		case "EOSE":
			q.Unsubscribe()
			return m, nil
		}
		err = take(m.Event)
		if err == nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: it was still sending", ErrTimeout)
		}
		if err != nil {
			go q.Unsubscribe()
			return Message{}, err
		}
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
func (c *Conn) submit(ctx context.Context, ev *nostr.Event) (string, error) {
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
		select {
		case <-time.After(pause):
		case <-c.done:
			return "", c.ended()
		case <-ctx.Done():
			return "", err
		}
	}
}

// submitOnce sends an EVENT, and again only after an AUTH.
func (c *Conn) submitOnce(ctx context.Context, ev *nostr.Event) (string, error) {
	for attempt := 1; ; attempt++ {
		accepted := c.authNow().accepted
		text, err := c.deliver(ctx, "EVENT", ev)
		var refusal *RefusalError
		if !errors.As(err, &refusal) || !refusal.AsksAuth() {
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
