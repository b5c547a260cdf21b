package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// ErrUnsure is what a relay failed with that may know of a relay list.
var ErrUnsure = errors.New("it may know a list of the agent's relays")

// Discover looks for the agent's relay list (NIP-65, kind 10002) on the
// configured relays. Relays that it names for writing (marked write, or not
// marked; valid ws and wss URLs only) are asked from now on besides the
// configured ones, as they are written there; 32 at most, and none that
// Options.Ignore names. Memory is absent only if all of them say so: a list
// must not hide what is on the relays that the user named. It is written to the
// configured ones alone, unless Options.WriteListed says otherwise.
//
// agent is a public key in hex. Where the context has a deadline, half of the
// time left is used at most: something is to be asked afterwards.
//
// The error is ErrNoRelay when no relay answered. If others failed, that is no
// error here, whether or not a list was found; but from then on every Status is
// partial, and nothing is said to be absent: there may be a newer list, and the
// memory may lie on relays that are not known. A relay that lets the others
// wait has failed, unless Options.Patient; what then finds nothing looks again.
func (c *Client) Discover(ctx context.Context, agent string) error {
	return discover(ctx, c, agent, c.AskThoseSoon)
}

// discover is Discover with a way to ask.
func discover(ctx context.Context, c *Client, agent string, ask Asking) error {
	if !nostr.IsValid32ByteHex(agent) {
		return fmt.Errorf("agent: %w", nipae.ErrKey)
	}
	if _, limited := ctx.Deadline(); limited {
		half, cancel := Part(ctx, 0.5)
		defer cancel()
		ctx = half
	}
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	configured := TargetsOf(c.o.Relays)
	a, unsure, err := relayLists(ctx, configured, agent, ask)
	urls, found := nipae.ConfiguredRelays(agent, a.Events, nil)
	if !found {
		use(c, configured, nil, unsure)
		return err
	}
	list := TargetsOf(urls)
	listed := slices.DeleteFunc(slices.Clone(list), func(t Target) bool { return among(configured, t) })
	listed = slices.DeleteFunc(listed, func(t Target) bool { return among(TargetsOf(c.o.Ignore), t) })
	for _, t := range listed[min(MaxRelays, len(listed)):] {
		// Asking some of them only must not pass for asking all.
		unsure = append(unsure, RelayStatus{URL: t.URL, Err: errors.New("not asked: the agent's list is too long")})
	}
	listed = listed[:min(MaxRelays, len(listed))]
	for i := range listed {
		listed[i].Listed = true
	}
	var leftOut []string
	for _, t := range configured {
		if !among(list, t) {
			leftOut = append(leftOut, t.URL)
		}
	}
	use(c, append(configured, listed...), leftOut, unsure)
	return nil
}

// relayLists returns the versions of the agent's list that relays have, newest
// first, and why there may be a newer one.
func relayLists(ctx context.Context, targets []Target, agent string, ask Asking) (a Answers, unsure []RelayStatus, err error) {
	a, err = ask(ctx, targets, nostr.Filter{Kinds: []int{nostr.KindRelayListMetadata}, Authors: []string{agent}})
	for _, r := range a.Relays {
		if r.Failed() || !r.Complete {
			if r.Err != nil {
				r.Err = fmt.Errorf("%w: %w", ErrUnsure, r.Err)
			}
			r.Err = cmp.Or(r.Err, ErrUnsure)
			unsure = append(unsure, r)
		}
	}
	return a, unsure, err
}

// Patiently does again, waiting for all relays, what found nothing while some
// was not waited for: the question for the agent's list too, if it was that.
func (c *Client) Patiently(ctx context.Context, agent string, again func() error) error {
	if Hurried(c.Doubts()) {
		if err := discover(ctx, c, agent, c.AskThose); err != nil {
			return err
		}
	}
	return again()
}

// among reports whether a relay is one of those.
func among(targets []Target, t Target) bool {
	return slices.ContainsFunc(targets, func(other Target) bool { return other.Canonical == t.Canonical })
}

func use(c *Client, targets []Target, leftOut []string, unsure []RelayStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.targets, c.leftOut, c.unsure = targets, leftOut, unsure
}

// LeftOut are configured relays that the agent's list does not name: other
// clients, which go by the list alone, do not look there. It is empty if there
// is no list.
func (c *Client) LeftOut() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leftOut
}

// Doubts returns why the relays that are asked may not be those of the agent's
// newest list, or not all of them: relays that failed when Discover asked them
// for it, and those that are too many.
func (c *Client) Doubts() []RelayStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsure
}

// ListedRelay is one entry of a list of relays (NIP-65).
type ListedRelay struct {
	URL    string // as it is to be connected to
	Marker string // "read", "write", or "" for both
}

// SetRelayList writes the identity's list of relays (NIP-65, kind 10002) anew,
// with these entries and no others, newer than the one that is found. It is
// sent to the relays that are asked now, to those that the old list names, and
// to those of the new one: whoever looks for it finds the same. before is the
// old list, nil if none was found.
//
// The errors are those of Publish; nipae.ErrRelayURL for an entry that is no
// relay URL, with nothing sent; ErrNoRelay, with nothing sent, if no configured
// relay said which list there is; and *PoisonedError.
func (c *Client) SetRelayList(ctx context.Context, entries []ListedRelay) (before []ListedRelay, status Status, err error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	tags := nostr.Tags{}
	for _, e := range entries {
		if _, err := nipae.CanonicalRelayURL(e.URL); err != nil {
			return nil, Status{}, fmt.Errorf("relay %q: %w", e.URL, err)
		}
		tag := nostr.Tag{"r", e.URL}
		if e.Marker != "" {
			tag = append(tag, e.Marker)
		}
		tags = append(tags, tag)
	}
	reading, done := Part(ctx, 0.4)
	a, unsure, err := relayLists(reading, TargetsOf(c.o.Relays), c.id.PubKey(), c.AskThose)
	done()
	status = Status{Relays: WithDoubts(a.Relays, unsure), Partial: len(unsure) > 0}
	if err != nil {
		return nil, status, err
	}
	var last int64
	if len(a.Events) > 0 {
		last, before = int64(a.Events[0].CreatedAt), listedRelays(a.Events[0])
	}
	at, err := c.After(last)
	if err != nil {
		return before, status, err
	}
	ev := &nostr.Event{Kind: nostr.KindRelayListMetadata, CreatedAt: nostr.Timestamp(at), Tags: tags}
	if err := c.id.Sign(ev); err != nil {
		return before, status, err
	}
	to := slices.Clone(c.o.Relays)
	for _, r := range slices.Concat(before, entries) {
		if len(to) < MaxRelays {
			to = append(to, r.URL)
		}
	}
	published, err := c.PublishThose(ctx, TargetsOf(to), ev, TimedOut(a.Relays))
	status.Sent(published)
	return before, status, err
}

// listedRelays returns the entries of a list that are relay URLs.
func listedRelays(ev *nostr.Event) (out []ListedRelay) {
	for tag := range ev.Tags.FindAll("r") {
		if _, err := nipae.CanonicalRelayURL(tag[1]); err != nil {
			continue
		}
		r := ListedRelay{URL: tag[1]}
		if len(tag) > 2 {
			r.Marker = tag[2]
		}
		out = append(out, r)
	}
	return out
}
