package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

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
	at, err := nipae.NextCreatedAt(c.Now(), last)
	if errors.Is(err, nipae.ErrClockPoisoned) {
		return before, status, &PoisonedError{Head: last}
	}
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
	status.Published, err = c.PublishThose(ctx, TargetsOf(to), ev, TimedOut(a.Relays))
	status.Partial = status.Partial || Accepted(status.Published) < len(status.Published)
	return before, status, err
}

// listedRelays returns the entries of a list that are relay URLs.
func listedRelays(ev *nostr.Event) (out []ListedRelay) {
	for _, tag := range ev.Tags {
		if len(tag) < 2 || tag[0] != "r" {
			continue
		}
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
