package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// An owner's list of approved agents is a kind 30078 event (NIP-78) with this d
// tag and the agents in p tags. Relays with write.owners read it.
const (
	approvalsD = "engramd/agents"
)

// Approvals is the list of agents that the client's identity, as an owner,
// vouches for at relays that ask for it.
type Approvals struct{ c *client.Client }

// ApprovalsOf returns the list of a client's identity.
func ApprovalsOf(c *client.Client) *Approvals { return &Approvals{c: c} }

// List returns the public keys of the approved agents, in the order of the
// list. No list is an empty one, but only if every relay says so (ErrPartial).
func (a *Approvals) List(ctx context.Context) ([]string, client.Status, error) {
	ctx, cancel := a.c.Operation(ctx)
	defer cancel()
	lists, status, err := a.read(ctx, a.c.AskThoseSoon)
	if len(lists) == 0 && client.Hurried(status.Relays) {
		lists, status, err = a.read(ctx, a.c.AskThose)
	}
	return agentsOf(newest(lists)), status, err
}

// Allow adds an agent, given by its public key in hex. If it is in the list of
// some relay, and every relay answered, the list is sent to those that lack it,
// unchanged. Otherwise a new version is written as by Memory.Set, with the same
// errors; but with a relay that failed it is ErrPartial and nothing is written:
// that relay may have a newer list, in which another agent is revoked, or the
// only one.
func (a *Approvals) Allow(ctx context.Context, agent string) (client.Status, error) {
	if !nostr.IsValid32ByteHex(agent) {
		return client.Status{}, fmt.Errorf("agent: %w", nipae.ErrKey)
	}
	return a.change(ctx, true, func(tags nostr.Tags, _ []*nostr.Event) (nostr.Tags, error) {
		if slices.ContainsFunc(tags, isAgent(agent)) {
			return tags, nil
		}
		return append(tags, nostr.Tag{"p", agent}), nil
	})
}

// Revoke takes an agent out of the list. ErrNotFound says that it is not in it.
// Relays that cannot be reached keep the old list: see Status.Published. If it
// is in an older list only, which some relay still goes by, the list is sent to
// all, unchanged.
func (a *Approvals) Revoke(ctx context.Context, agent string) (client.Status, error) {
	return a.change(ctx, false, func(tags nostr.Tags, older []*nostr.Event) (nostr.Tags, error) {
		left := slices.DeleteFunc(slices.Clone(tags), isAgent(agent))
		named := func(list *nostr.Event) bool { return slices.ContainsFunc(list.Tags, isAgent(agent)) }
		if len(left) == len(tags) && !slices.ContainsFunc(older, named) {
			return nil, client.ErrNotFound
		}
		return left, nil
	})
}

// read returns the lists that the relays have, the newest first: that one
// counts.
func (a *Approvals) read(ctx context.Context, ask client.Asking) ([]*nostr.Event, client.Status, error) {
	answers, err := ask(ctx, a.c.Targets(), nostr.Filter{Kinds: []int{nostr.KindApplicationSpecificData}, Authors: []string{a.c.Identity().PubKey()},
		Tags: nostr.TagMap{"d": {approvalsD}}})
	status := client.Status{Relays: answers.Relays, Partial: answers.Partial(), Doubtful: client.Rejected(answers.Relays)}
	switch {
	case err != nil:
		return nil, status, err
	case len(answers.Events) > 0:
		return answers.Events, status, nil
	case status.Partial:
		return nil, status, client.Failures(client.ErrPartial, status.Relays)
	}
	return nil, status, nil
}

// newest returns the first of lists, nil if there is none.
func newest(lists []*nostr.Event) *nostr.Event {
	if len(lists) == 0 {
		return nil
	}
	return lists[0]
}

// edit makes the tags of the next list. It is told the lists that were newest
// before and that some relay still has.
type edit func(tags nostr.Tags, older []*nostr.Event) (nostr.Tags, error)

// change writes the list with other tags; whole: only if every relay answered.
func (a *Approvals) change(ctx context.Context, whole bool, do edit) (client.Status, error) {
	ctx, cancel := a.c.Operation(ctx)
	defer cancel()
	reading, done := client.Part(ctx, 0.4)
	lists, status, err := a.read(reading, a.c.AskThose)
	done()
	if err == nil && whole && status.Partial {
		err = client.Failures(client.ErrPartial, status.Relays)
	}
	if err != nil {
		return status, err
	}
	next, err := a.edited(lists, do)
	if err != nil {
		return status, err
	}
	publishing, done := client.Part(ctx, 0.6)
	status.Published, err = a.c.PublishThose(publishing, a.c.WriteTargets(), next, client.TimedOut(status.Relays))
	done()
	status.Partial = status.Partial || client.Accepted(status.Published) < len(status.Published)
	if err != nil {
		return status, err
	}
	return a.verify(ctx, next, status)
}

// edited makes the next version of the list; the same event if nothing changes.
func (a *Approvals) edited(lists []*nostr.Event, do edit) (*nostr.Event, error) {
	list := newest(lists)
	next := &nostr.Event{Kind: nostr.KindApplicationSpecificData, Tags: nostr.Tags{{"d", approvalsD}}}
	last := int64(0)
	if list != nil {
		next.Tags, next.Content, last = slices.Clone(list.Tags), list.Content, int64(list.CreatedAt)
	}
	tags, err := do(next.Tags, lists[min(1, len(lists)):])
	if err != nil {
		return nil, err
	}
	if list != nil && len(tags) == len(list.Tags) {
		return list, nil
	}
	at, err := a.c.After(last)
	if err != nil {
		return nil, err
	}
	next.Tags, next.CreatedAt = tags, nostr.Timestamp(at)
	return next, a.c.Identity().Sign(next)
}

// verify reads the list again.
func (a *Approvals) verify(ctx context.Context, ours *nostr.Event, status client.Status) (client.Status, error) {
	lists, after, err := a.read(ctx, a.c.AskThoseSoon)
	list := newest(lists)
	status.Relays, status.Doubtful = after.Relays, after.Doubtful
	status.Partial = status.Partial || after.Partial
	switch {
	case err != nil:
		return status, fmt.Errorf("%w: %w", client.ErrUnverified, err)
	case list == nil || nipae.Newer(ours, list):
		return status, client.Failures(client.ErrUnverified, status.Relays)
	case list.ID != ours.ID:
		return status, &client.ConflictError{Sent: true, Reason: "the list was changed at the same time"}
	}
	return status, nil
}

func isAgent(agent string) func(nostr.Tag) bool {
	return func(tag nostr.Tag) bool { return tag.Key() == "p" && tag.Value() == agent }
}

// agentsOf returns the agents that a list names, each once.
func agentsOf(list *nostr.Event) []string {
	var agents []string
	if list == nil {
		return nil
	}
	for tag := range list.Tags.FindAll("p") {
		if !slices.Contains(agents, tag[1]) {
			agents = append(agents, tag[1])
		}
	}
	return agents
}
