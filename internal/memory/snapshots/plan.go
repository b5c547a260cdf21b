package snapshots

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/protocol/wire"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

const kindEngram = nipae.Kind

// Plan is what a revert does.
type Plan struct {
	Actions []snapshot.Action
	// Unread counts engrams, there or in the bundle, that the key does not read.
	// The plan leaves the address of one in the bundle alone. One that is there is
	// superseded if the bundle has something at its address, and else left alone.
	Unread int
	// Untold counts engrams that are there and left alone because the bundle
	// does not say that they were not.
	Untold int
}

// Writes reports whether there is anything to do.
func (p Plan) Writes() (n int) {
	for _, a := range p.Actions {
		if a.Op != snapshot.Keep {
			n++
		}
	}
	return n
}

// tells reports whether it says something that an engram is not in the bundle:
// what an owner captured shows that owner's part only, and what was captured
// while a relay was silent may lack anything.
func tells(m *bundle.Manifest, ev *nostr.Event) bool {
	return m.Consistency != bundle.PartialListing && (!m.OneOwners() || slices.Contains(m.Owners, ownerOf(ev)))
}

// NewPlan compares the present memory with a bundle. It leaves addresses alone
// of which the bundle says nothing.
func NewPlan(ctx context.Context, b *bundle.Bundle, now *Capture, keys bundle.Keys) (Plan, error) {
	then, err := snapshot.ReadHeads(ctx, b, now.Agent, keys)
	if err != nil {
		return Plan{}, err
	}
	is, err := snapshot.ReadHeads(ctx, now, now.Agent, keys)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	for _, ev := range now.Heads() {
		at := snapshot.Address{Kind: ev.Kind, PubKey: ev.PubKey, D: ev.Tags.GetD()}
		if _, ok := then[at]; !ok && !tells(b.Manifest, ev) {
			delete(is, at)
			p.Untold++
		}
	}
	for at, h := range then {
		if h.Kind == kindEngram && !h.Readable() {
			delete(then, at)
			delete(is, at) // there was something
			p.Unread++
		}
	}
	for at, h := range is {
		if h.Kind == kindEngram && !h.Readable() {
			delete(is, at)
			p.Unread++
		}
	}
	p.Actions, err = snapshot.Plan(snapshot.Revert, then, is)
	return p, err
}

// Steps makes and signs what the plan writes: bodies of the bundle as they
// were, tombstones for the rest, each newer than what is at its address now.
// check, if not nil, is shown the text that is there and the one to be written;
// its error ends it. It takes a second for each perSecond of them.
func (p Plan) Steps(ctx context.Context, c *client.Client, b bundle.Source, now *Capture, keys bundle.Keys,
	check func(old, text string) error,
) ([]Step, error) {
	old, err := p.wanted(ctx, b)
	if err != nil {
		return nil, err
	}
	there := now.byD()
	w := &writing{c: c, keys: keys, agent: now.Agent, check: check, memories: map[string]*memory.Memory{}}
	var all []draft
	times := &spread{now: time.Now, wait: sleep}
	for _, a := range p.Actions {
		if a.Op == snapshot.Keep {
			continue
		}
		from := there[a.D]
		if a.Op == snapshot.Write {
			from = old[a.Bundle.ID]
		}
		d, err := w.draft(a, from, there[a.D])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Slug, err)
		}
		if d.Expires > 0 && d.Expires <= d.At {
			continue // it has expired: nothing brings it back
		}
		all = append(all, d)
		if err := times.made(ctx, d.At); err != nil {
			return nil, err
		}
	}
	return w.seal(ctx, all)
}

// wanted returns the bundle's events whose bodies are written again, by id.
func (p Plan) wanted(ctx context.Context, b bundle.Source) (map[string]*nostr.Event, error) {
	ids := map[string]bool{}
	for _, a := range p.Actions {
		if a.Op == snapshot.Write {
			ids[a.Bundle.ID] = true
		}
	}
	old := map[string]*nostr.Event{}
	err := b.Events(ctx, bundle.Heads, func(line []byte) error {
		ev, err := wire.ParseEvent(line)
		if err == nil && ids[ev.ID] {
			old[ev.ID] = ev
		}
		return err
	})
	return old, err
}

func (c *Capture) byD() map[string]*nostr.Event {
	there := map[string]*nostr.Event{}
	for _, ev := range c.Heads() {
		there[ev.Tags.GetD()] = ev
	}
	return there
}

// Refusals returns what check says of all texts that would be written, each
// with its slug.
func (p Plan) Refusals(ctx context.Context, b bundle.Source, now *Capture, keys bundle.Keys, check func(old, text string) error) ([]error, error) {
	old, err := p.wanted(ctx, b)
	if err != nil {
		return nil, err
	}
	there := now.byD()
	w := &writing{keys: keys, agent: now.Agent, check: check}
	var why []error
	for _, a := range p.Actions {
		if a.Op != snapshot.Write || old[a.Bundle.ID] == nil {
			continue
		}
		body, err := w.open(old[a.Bundle.ID])
		if err == nil {
			err = w.checked(there[a.D], body)
		}
		if err != nil {
			why = append(why, fmt.Errorf("%s: %w", a.Slug, err))
		}
	}
	return why, nil
}

// writing makes events for the owners that there are.
type writing struct {
	c        *client.Client
	keys     bundle.Keys
	agent    string
	check    func(old, text string) error
	memories map[string]*memory.Memory // by owner
}

// draft is a step whose event is not signed yet.
type draft struct {
	memory.Draft
	step  Step
	owner string
}

// draft makes one. from is the event whose body is written, or whose slug is
// said to be empty; head is what is there, nil for nothing.
func (w *writing) draft(a snapshot.Action, from, head *nostr.Event) (draft, error) {
	if from == nil {
		return draft{}, bundle.ErrChanged
	}
	d := draft{owner: ownerOf(from), step: Step{Core: a.Slug.IsCore()}}
	body, err := w.open(from)
	if err != nil {
		return d, err
	}
	if a.Op == snapshot.Tombstone {
		body = body.Tombstoned()
	}
	if err := w.checked(head, body); err != nil {
		return d, err
	}
	m, err := w.memory(d.owner)
	if err != nil {
		return d, err
	}
	last := int64(0)
	if head != nil {
		d.step.Base, last = head.ID, int64(head.CreatedAt)
	}
	d.Body = body
	if d.At, err = m.After(last); err != nil {
		return d, err
	}
	d.Was, _ = nipae.Expiration(from)
	d.Expires = lasting(d.Was, head, d.At)
	return d, nil
}

// lasting returns when a version expires, which expired at was, when it is written over a
// head: with it goes the history, so never sooner than the head does. What has expired by
// now, and stands over nothing that expires later, has expired.
func lasting(was int64, head *nostr.Event, now int64) int64 {
	if was == 0 || head == nil {
		return was
	}
	at, expires := nipae.Expiration(head)
	if !expires && was > now {
		return 0
	}
	return max(was, at)
}

func (w *writing) memory(owner string) (*memory.Memory, error) {
	if m := w.memories[owner]; m != nil {
		return m, nil
	}
	m, err := memory.AsAgent(w.c, owner)
	w.memories[owner] = m
	return m, err
}

// seal signs the drafts: those of each owner in one step of the writer's log.
func (w *writing) seal(ctx context.Context, all []draft) ([]Step, error) {
	of := map[string][]int{}
	for i, d := range all {
		of[d.owner] = append(of[d.owner], i)
	}
	steps := make([]Step, len(all))
	for owner, places := range of {
		drafts := make([]memory.Draft, len(places))
		for k, i := range places {
			drafts[k] = all[i].Draft
		}
		m, err := w.memory(owner)
		if err != nil {
			return nil, err
		}
		events, err := m.Compose(ctx, drafts)
		if err != nil {
			return nil, err
		}
		for k, i := range places {
			steps[i] = all[i].step
			steps[i].Event = events[k]
		}
	}
	return steps, nil
}

func (w *writing) open(ev *nostr.Event) (nipae.Body, error) {
	owner := ownerOf(ev)
	key, ok := w.keys(w.agent, owner)
	if !ok {
		return nipae.Body{}, snapshot.ErrUnreadable
	}
	engram, err := nipae.Open(key, w.agent, owner, ev)
	return engram.Body, err
}

func (w *writing) checked(head *nostr.Event, body nipae.Body) error {
	text, live := body.Text()
	if w.check == nil || !live {
		return nil
	}
	old := ""
	if head != nil {
		if is, err := w.open(head); err == nil {
			old, _ = is.Text()
		}
	}
	return w.check(old, text)
}

func ownerOf(ev *nostr.Event) string {
	for _, tag := range ev.Tags {
		if len(tag) > 1 && tag[0] == "p" {
			return tag[1]
		}
	}
	return ""
}
