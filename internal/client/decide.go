package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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
	By        string          // URL of who decided, for the event or against it; "" is nobody
	Published []PublishStatus // what was said, also by relays that took it without deciding
}

// Decide has one of the relays store the event if base is the head of its
// address, nil standing for none. No relay that can decide is no error. With an
// error nothing was published: *ConflictError; ErrAuth or ErrRefused if the
// decider refuses the event; ErrNoRelay if one that may be the decider does not
// answer, because another must not decide in its place, and ErrUnconnected too where
// nothing was sent to any. reached are the relays
// that answered the reading before.
func (c *Client) Decide(ctx context.Context, targets []Target, ev, base *nostr.Event, reached map[string]bool) (Decision, error) {
	var d Decision
	for i, t := range c.o.deciders(targets) {
		start := time.Now()
		err := comparing{c, t, ev, reached[t.URL]}.set(ctx, base)
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
			if errors.Is(err, ErrConflict) {
				d.By = t.URL
			}
			if d.Published = append(d.Published, status); i > 0 && errors.Is(err, ErrUnconnected) {
				err = fmt.Errorf("%w: %v", ErrNoRelay, err) // one before it may have the event
			}
			return d, err
		default:
			d.By, d.Published = t.URL, append(d.Published, status)
			return d, nil
		}
	}
	return d, nil
}

// Undecided reports whether the relay that is asked first to decide failed in a reading.
func Undecided(c *Client, relays []RelayStatus) bool {
	first := c.o.deciders(c.WriteTargets())
	return len(first) > 0 && slices.ContainsFunc(relays, func(r RelayStatus) bool { return r.Failed() && r.URL == first[0].URL })
}

// deciders returns the relays that may decide, in the order in which they are
// asked.
func (o Options) deciders(targets []Target) []Target {
	if o.Decider != "" {
		named := TargetsOf([]string{o.Decider})
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

// comparing is a compare-and-set at one relay.
type comparing struct {
	c       *Client
	t       Target
	ev      *nostr.Event
	reached bool // it answered the reading before
}

// set asks the relay. If that lacks the base, it is sent that first.
func (x comparing) set(ctx context.Context, base *nostr.Event) error {
	id := ""
	if base != nil {
		id = base.ID
	}
	err := x.post(ctx, id)
	if !errors.Is(err, ErrConflict) || base == nil {
		return err
	}
	head, readErr := x.head(ctx)
	if readErr != nil || head != nil && !nipae.Newer(base, head) {
		return err
	}
	// It is behind: the base is the newer one, and only has not got there yet.
	if s := x.c.PublishTo(ctx, x.t, base, time.Now()); !s.Accepted {
		return err
	}
	return x.post(ctx, id)
}

// head reads what the relay has at the event's address; nil for nothing.
func (x comparing) head(ctx context.Context) (*nostr.Event, error) {
	a, err := x.c.AskThose(ctx, []Target{x.t}, nostr.Filter{
		Kinds: []int{x.ev.Kind}, Authors: []string{x.ev.PubKey}, Tags: nostr.TagMap{"d": {x.ev.Tags.GetD()}}})
	if err != nil || len(a.Events) == 0 {
		return nil, err
	}
	return a.Events[0], nil
}

// post is POST /events?base=ID. Its errors are *ConflictError, *takenError,
// errNoDecider, a refusal, or ErrNoRelay around what kept it from an answer; the
// event may then have been stored all the same.
func (x comparing) post(ctx context.Context, base string) error {
	if x.t.Err != nil {
		return fmt.Errorf("%w: %w", ErrNoRelay, x.t.Err)
	}
	req, err := x.c.http.signed(ctx, x.t, http.MethodPost, "/events", url.Values{"base": {base}}, wire.AppendEvent(nil, x.ev))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoRelay, err)
	}
	req.Header.Set("Content-Type", jsonType)
	resp, err := x.c.http.exchange(x.t, req)
	if err != nil {
		return x.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	return comparison(resp, base)
}

// unanswered returns what it means that there is no HTTP answer. A relay that
// has just answered on a websocket and hangs up on HTTP has no HTTP.
func (x comparing) unanswered(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w: it may decide, and no other may in its place", ErrNoRelay, Printable(x.t.URL), ErrTimeout)
	case x.reached && HangsUp(err):
		return errNoDecider
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" { // nothing was sent
		err = fmt.Errorf("%w: %w", ErrUnconnected, err)
	}
	return fmt.Errorf("%w: %s: %w: it may decide, and no other may in its place", ErrNoRelay, Printable(x.t.URL), err)
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
