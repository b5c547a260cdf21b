package snapshots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/wire"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/kind"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// maxRounds is how often the memory is listed until two lists agree.
const maxRounds = 10

// ErrMoving means that the memory changed each time it was listed.
var ErrMoving = errors.New("the memory keeps changing while it is read")

// Capture is an agent's memory as the relays showed it in two lists that agree.
// It is a bundle.Source.
type Capture struct {
	Agent  string
	AsOf   time.Time // when the first of the two lists was begun, or the instant asked for
	Status client.Status
	// LeftOut counts events that are not shaped as their kind must be, or that
	// claim to be newer than a head and are no head, or to be of long after AsOf.
	LeftOut int
	// Unknown counts, of an instant in the past, engrams that are there now and
	// of which no version of then is kept: they were not there yet, or it was
	// dropped since.
	Unknown int

	events [5][]*nostr.Event // by bundle.Class
}

// Events calls yield with each event of a class.
func (c *Capture) Events(ctx context.Context, class bundle.Class, yield func([]byte) error) error {
	for _, ev := range c.events[class] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(wire.AppendEvent(nil, ev)); err != nil {
			return err
		}
	}
	return nil
}

// Heads returns the engrams that count.
func (c *Capture) Heads() []*nostr.Event { return c.events[bundle.Heads] }

// Wanted says what to capture.
type Wanted struct {
	Agent string
	// Whole makes an answer that is not whole an error, client.ErrPartial.
	Whole bool
	// At is an instant in the past, by created_at; zero is now. Where no relay
	// shows history, what was there then cannot be known in full.
	At time.Time
}

// Take captures the memory of an agent as far as the client's key may read it:
// the agent's all, an owner's what names it. Errors are client.ErrPartial,
// those of Client.Ask, and ErrMoving.
func Take(ctx context.Context, c *client.Client, want Wanted, clock func() time.Time) (*Capture, error) {
	t := &taking{c: c, agent: want.Agent, whole: want.Whole, at: want.At, relays: map[string]client.RelayStatus{}}
	began := clock()
	before, err := t.list(ctx)
	if err != nil {
		return t.fail(err)
	}
	for range maxRounds {
		past, err := t.history(ctx, before)
		if err != nil {
			return t.fail(err)
		}
		again := clock()
		after, err := t.list(ctx)
		if err != nil {
			return t.fail(err)
		}
		if same(before, after) {
			return t.captured(after, past, began)
		}
		before, began = after, again
	}
	return t.fail(ErrMoving)
}

type taking struct {
	c      *client.Client
	agent  string
	whole  bool
	at     time.Time                     // zero: now
	relays map[string]client.RelayStatus // the worst that each relay said
	order  []string
	latest int64 // the last time that an event may bear
}

// captured returns the capture of what was listed.
func (t *taking) captured(list map[string]*nostr.Event, past []*nostr.Event, began time.Time) (*Capture, error) {
	if t.at.IsZero() {
		t.latest = bundle.Latest(began).Unix()
		out := t.sorted(list, past)
		out.AsOf = began
		return out, nil
	}
	list, past, unknown := rewound(list, past, t.at.Unix())
	t.latest = t.at.Unix()
	out := t.sorted(list, past)
	out.AsOf, out.Unknown = t.at, unknown
	if unknown > 0 && !t.anyHistory() {
		out.Status.Partial = true
		if t.whole {
			return t.fail(fmt.Errorf("%w in full: none shows superseded versions, so that what was there then is not known", client.ErrPartial))
		}
	}
	return out, nil
}

func (t *taking) anyHistory() bool {
	return slices.ContainsFunc(t.order, func(url string) bool { return !errors.Is(t.relays[url].Err, client.ErrNoHistory) })
}

// rewound are list and history as they were at an instant, by created_at: of
// each address that is listed the newest version of then. Versions that were
// deleted since are gone.
func rewound(list map[string]*nostr.Event, past []*nostr.Event, at int64) (map[string]*nostr.Event, []*nostr.Event, int) {
	then, heads, now := map[string]*nostr.Event{}, map[string]*nostr.Event{}, map[string]int{}
	var before []*nostr.Event
	for _, ev := range list {
		switch {
		case ev.Kind == nostr.KindDeletion || ev.Kind == kind.Vanish:
			then[ev.ID] = ev // also a later one: what it deleted is gone
		default:
			now[addressOf(ev)] = ev.Kind
			past = append(past, ev)
		}
	}
	seen := map[string]bool{}
	for _, ev := range past {
		if int64(ev.CreatedAt) > at || seen[ev.ID] {
			continue
		}
		seen[ev.ID] = true
		before = append(before, ev)
		if at := addressOf(ev); now[at] != 0 && bundle.CheckShape(ev) == nil && nipae.Newer(ev, heads[at]) {
			heads[at] = ev
		}
	}
	unknown := 0
	for at, listed := range now {
		if head := heads[at]; head != nil {
			then[head.ID] = head
		} else if listed == nipae.Kind {
			unknown++
		}
	}
	return then, before, unknown
}

// fail returns an empty capture that says how the relays did.
func (t *taking) fail(err error) (*Capture, error) {
	return &Capture{Agent: t.agent, Status: t.status()}, err
}

func (t *taking) own() bool { return t.c.Identity().PubKey() == t.agent }

// filters returns what a list is made of.
func (t *taking) filters() []nostr.Filter {
	authors, me := []string{t.agent}, nostr.TagMap{"p": {t.c.Identity().PubKey()}}
	engrams := nostr.Filter{Kinds: []int{nipae.Kind}, Authors: authors}
	list := []nostr.Filter{
		{Kinds: []int{nostr.KindDeletion, kind.Vanish}, Authors: authors},
		{Kinds: []int{nostr.KindRelayListMetadata}, Authors: authors},
	}
	if !t.own() {
		engrams.Tags = me
		return append(list, engrams)
	}
	return append(list, engrams,
		nostr.Filter{Kinds: []int{niptemp.KindEntry, niptemp.KindState}, Authors: authors},
		nostr.Filter{Kinds: []int{niptemp.KindEntry, niptemp.KindState}, Tags: me})
}

// list asks for everything that counts now.
func (t *taking) list(ctx context.Context) (map[string]*nostr.Event, error) {
	events := map[string]*nostr.Event{}
	for _, f := range t.filters() {
		a, err := t.c.Ask(ctx, f)
		if err := t.heard(a, err); err != nil {
			return nil, err
		}
		for _, ev := range a.Events {
			events[ev.ID] = ev
		}
	}
	return events, nil
}

// history asks for what the listed events superseded, and for what was
// superseded by events that are gone.
func (t *taking) history(ctx context.Context, list map[string]*nostr.Event) ([]*nostr.Event, error) {
	authors := map[int][]string{nipae.Kind: {t.agent}}
	if t.own() {
		authors[niptemp.KindEntry], authors[niptemp.KindState] = []string{t.agent}, []string{t.agent}
	}
	for _, ev := range list {
		if by := authors[ev.Kind]; (ev.Kind == niptemp.KindEntry || ev.Kind == niptemp.KindState) && !slices.Contains(by, ev.PubKey) {
			authors[ev.Kind] = append(by, ev.PubKey)
		}
	}
	var past []*nostr.Event
	for kind, by := range authors {
		for _, author := range by {
			a, err := t.c.AskHistory(ctx, nostr.Filter{Kinds: []int{kind}, Authors: []string{author}})
			if err := t.heard(a, err); err != nil {
				return nil, err
			}
			past = append(past, a.Events...)
		}
	}
	return past, nil
}

// heard keeps what the relays said, and judges whether it will do.
func (t *taking) heard(a client.Answers, err error) error {
	for _, r := range a.Relays {
		known, ok := t.relays[r.URL]
		if !ok {
			t.order = append(t.order, r.URL)
		}
		noHistory := errors.Is(r.Err, client.ErrNoHistory)
		switch {
		case !ok, r.Err != nil && !noHistory, known.Err == nil && (noHistory || !r.Complete):
			r.Events += known.Events
			t.relays[r.URL] = r
		default:
			known.Events += r.Events
			t.relays[r.URL] = known
		}
	}
	if err != nil {
		return err
	}
	if t.whole && a.Partial() {
		return fmt.Errorf("%w in full: %s", client.ErrPartial, strings.Join(unwell(a.Relays), "; "))
	}
	return nil
}

func unwell(relays []client.RelayStatus) (text []string) {
	for _, r := range relays {
		switch {
		case r.Err != nil && !errors.Is(r.Err, client.ErrNoHistory):
			text = append(text, fmt.Sprintf("%s: %v", r.URL, r.Err))
		case !r.Complete:
			text = append(text, r.URL+": its answer may be incomplete")
		}
	}
	return text
}

func (t *taking) status() client.Status {
	s := client.Status{}
	for _, url := range t.order {
		r := t.relays[url]
		s.Relays = append(s.Relays, r)
		s.Partial = s.Partial || r.Err != nil && !errors.Is(r.Err, client.ErrNoHistory) || !r.Complete
	}
	doubts := t.c.Doubts()
	s.Relays, s.Partial = append(s.Relays, doubts...), s.Partial || len(doubts) > 0
	return s
}

func same(a, b map[string]*nostr.Event) bool {
	if len(a) != len(b) {
		return false
	}
	for id := range a {
		if b[id] == nil {
			return false
		}
	}
	return true
}
