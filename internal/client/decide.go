package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// A compare-and-set is decided by one relay (NIP-AE): the
// one that Options.Decider names, else the first in the order of canonical URLs
// that can, so that all who configure the same relays ask the same one. The
// others get the event after its OK. Where no relay can, it is best effort.

// errNoDecider means that a relay knows no compare-and-set.
var errNoDecider = errors.New("the relay decides nothing: it knows no compare-and-set")

// Decision is what became of an event at the relays that were asked to decide.
type Decision struct {
	By        string          // URL of who decided; "" is nobody
	Published []PublishStatus // what was said, also by relays that took it without deciding
}

// decide has one of the relays store the event if base is the head of its
// address, nil standing for none. No relay that can decide is no error. With an
// error nothing was published: *ConflictError; ErrAuth or ErrRefused if the
// decider refuses the event; ErrNoRelay if one that may be the decider does not
// answer, because another must not decide in its place. reached are the relays
// that answered the reading before.
func (c *Client) decide(ctx context.Context, targets []Target, ev, base *nostr.Event, reached map[string]bool) (Decision, error) {
	var d Decision
	for _, t := range c.deciders(targets) {
		start := time.Now()
		err := c.compareAndSet(ctx, t, ev, base, reached[t.URL])
		status := PublishStatus{URL: t.URL, Accepted: err == nil, Err: err, Took: time.Since(start)}
		var taken *takenError
		switch {
		case errors.As(err, &taken):
			// It has the event, and did not say that it compared.
			d.Published = append(d.Published, PublishStatus{URL: t.URL, Accepted: true, Message: taken.message, Took: status.Took})
			if c.o.Decider != "" {
				return d, nil
			}
		case errors.Is(err, errNoDecider):
			if c.o.Decider != "" {
				return d, fmt.Errorf("%w: %s is to decide: %w", ErrRefused, Printable(t.URL), err)
			}
		case err != nil:
			d.Published = append(d.Published, status)
			return d, err
		default:
			d.By, d.Published = t.URL, append(d.Published, status)
			return d, nil
		}
	}
	return d, nil
}

// deciders returns the relays that may decide, in the order in which they are
// asked.
func (c *Client) deciders(targets []Target) []Target {
	if c.o.Decider != "" {
		named := TargetsOf([]string{c.o.Decider})
		if i := slices.IndexFunc(targets, func(t Target) bool { return among(named, t) }); i >= 0 {
			return targets[i : i+1]
		}
		return named
	}
	sorted := slices.Clone(targets)
	slices.SortFunc(sorted, func(a, b Target) int { return strings.Compare(a.Canonical, b.Canonical) })
	return sorted
}

// takenError says that a relay took an event without comparing.
type takenError struct{ message string }

func (e *takenError) Error() string { return "it took the event and did not compare" }

// compareAndSet asks one relay. If that lacks the base, it is sent that first.
func (c *Client) compareAndSet(ctx context.Context, t Target, ev, base *nostr.Event, reached bool) error {
	id := ""
	if base != nil {
		id = base.ID
	}
	err := c.postWithBase(ctx, t, ev, id, reached)
	if !errors.Is(err, ErrConflict) || base == nil {
		return err
	}
	head, found, readErr := c.headAt(ctx, t, ev)
	if readErr != nil || found && !nipae.Newer(base, head) {
		return err
	}
	// It is behind: the base is the newer one, and only has not got there yet.
	if s := c.PublishTo(ctx, t, base, time.Now()); !s.Accepted {
		return err
	}
	return c.postWithBase(ctx, t, ev, id, reached)
}

// headAt reads what a relay has at an event's address.
func (c *Client) headAt(ctx context.Context, t Target, ev *nostr.Event) (head *nostr.Event, found bool, err error) {
	a, err := c.AskThose(ctx, []Target{t}, nostr.Filter{
		Kinds: []int{ev.Kind}, Authors: []string{ev.PubKey}, Tags: nostr.TagMap{"d": {ev.Tags.GetD()}}})
	if err != nil || len(a.Events) == 0 {
		return nil, false, err
	}
	return a.Events[0], true, nil
}

// postWithBase is POST /events?base=ID. Its errors are *ConflictError,
// *takenError, errNoDecider, a refusal, or ErrNoRelay around what kept it from
// an answer; the event may then have been stored all the same.
func (c *Client) postWithBase(ctx context.Context, t Target, ev *nostr.Event, base string, reached bool) error {
	if t.Err != nil {
		return fmt.Errorf("%w: %w", ErrNoRelay, t.Err)
	}
	body := wire.AppendEvent(nil, ev)
	at, err := httpURL(t.URL, "/events", url.Values{"base": {base}})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoRelay, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return errors.New("relay URL makes no request")
	}
	header, err := c.HTTP().sign(http.MethodPost, at, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", header)
	req.Header.Set("Content-Type", "application/json")
	trace := c.o.tracer(t.URL)
	trace(true, []byte("POST "+at))
	resp, err := c.http.client.Do(req)
	if err != nil {
		return c.unanswered(ctx, t, err, reached)
	}
	defer resp.Body.Close()
	trace(false, []byte("HTTP "+resp.Status))
	return comparison(resp, base)
}

// unanswered returns what it means that there is no HTTP answer. A relay that
// has just answered on a websocket and hangs up on HTTP has no HTTP.
func (c *Client) unanswered(ctx context.Context, t Target, err error, reached bool) error {
	err = withoutURL(err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w: it may decide, and no other may in its place", ErrNoRelay, Printable(t.URL), ErrTimeout)
	case reached && HangsUp(err):
		return errNoDecider
	}
	return fmt.Errorf("%w: %s: over HTTP: %s: it may decide, and no other may in its place", ErrNoRelay, Printable(t.URL), Printable(err.Error()))
}

// comparison reads the answer.
func comparison(resp *http.Response, base string) error {
	if resp.StatusCode == http.StatusConflict {
		return &ConflictError{Reason: "another version is the head"}
	}
	if err := statusError(resp); err != nil {
		if errors.Is(err, ErrNoHistory) {
			return errNoDecider
		}
		return err
	}
	var answer struct {
		Accepted bool    `json:"accepted"`
		Message  string  `json:"message"`
		Base     *string `json:"base"`
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	switch {
	case err != nil:
		return fmt.Errorf("%w: its answer was cut off", ErrNoRelay)
	case json.Unmarshal(text, &answer) != nil || !answer.Accepted:
		return errNoDecider
	case answer.Base == nil || *answer.Base != base:
		return &takenError{Printable(answer.Message)}
	}
	return nil
}
