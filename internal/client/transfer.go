package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// Transfer brings relays up to date with others, with all that one key may see
// of a few filters: of each address its versions, oldest first, and deletions
// among them by time. Everything is verified before it is sent on.
//
// A relay takes versions that are newer than its own. Older ones cannot be
// published any more: they are told as such and are no failure.
type Transfer struct {
	Sources, Targets []*Peer
	Filters          []nostr.Filter // see EverythingOf and MemoryOf
	DryRun           bool           // sends nothing
	Clock            func() time.Time
	Progress         func(text string) // told what begins; nil: nobody
}

// TransferReport is what a transfer did, or would do.
type TransferReport struct {
	Sources []TransferSource
	Targets []TransferTarget
	Notes   []string // what was done otherwise than it might be
}

// TransferSource is how one relay gave what it has.
type TransferSource struct {
	URL      string
	Missing  int   // events that it lists and did not deliver
	Rejected int   // events that are wrong or were not asked for
	Cut      bool  // it may have more than it showed
	Err      error // why it could not be asked in full
}

// TransferTarget is what one relay got.
type TransferTarget struct {
	URL      string
	Lacked   int // events that some source has and it does not
	Sent     int // it took them; with DryRun: they would be sent
	Past     int // of them superseded versions
	Newer    int // it has a newer version
	Deleted  int // their author has deleted them there
	Expired  int // not sent: their time is over (NIP-40)
	Others   int // not sent: requests to vanish that name other relays (NIP-62)
	NotMoved []Moved
	Refused  []Moved
	Err      error // it failed, and was given up
}

// Moved is an event that did not come to a target, and why.
type Moved struct {
	Event  *nostr.Event
	Reason string
}

// UpToDate reports whether a target has in the end what the sources have.
func (t TransferTarget) UpToDate() bool { return t.Err == nil && len(t.Refused) == 0 }

// Whole reports whether everything that a source has was seen.
func (s TransferSource) Whole() bool {
	return s.Err == nil && s.Missing == 0 && s.Rejected == 0 && !s.Cut
}

// memoryKinds are the kinds that a pair of keys shares.
var memoryKinds = []int{nipae.Kind, kindContractState, kindContractEntry}

// EverythingOf is what belongs to a key: what it signed of memory, contracts,
// deletions, requests to vanish and its list of relays, and what names it. since
// leaves out what is older; 0 nothing.
func EverythingOf(pubkey string, since int64) []nostr.Filter {
	return bounded(since,
		nostr.Filter{Kinds: append(slices.Clone(memoryKinds), nostr.KindDeletion, kindVanish, nostr.KindRelayListMetadata), Authors: []string{pubkey}},
		nostr.Filter{Kinds: slices.Clone(memoryKinds), Tags: nostr.TagMap{"p": {pubkey}}})
}

// MemoryOf is the memory of one agent that its owner may see, and its list of
// relays.
func MemoryOf(agent, owner string, since int64) []nostr.Filter {
	return bounded(since,
		nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{agent}, Tags: nostr.TagMap{"p": {owner}}},
		nostr.Filter{Kinds: []int{nostr.KindRelayListMetadata}, Authors: []string{agent}})
}

func bounded(since int64, filters ...nostr.Filter) []nostr.Filter {
	for i := range filters {
		if since > 0 {
			filters[i].Since = new(nostr.Timestamp(since))
		}
	}
	return filters
}

// Run does it. Failures are in the report; the error is that of ctx.
func (tr Transfer) Run(ctx context.Context) (TransferReport, error) {
	x := &transfer{Transfer: tr, lists: map[listKey]map[string]*nostr.Event{}, diffs: map[diffKey]difference{},
		sources: map[*Peer]*TransferSource{}, fetched: map[string]*nostr.Event{}, keeps: map[*Peer]bool{}, arrived: map[string]map[string]niptemp.OrderItem{}}
	if x.Progress == nil {
		x.Progress = func(string) {}
	}
	for _, p := range tr.Sources {
		x.sources[p] = &TransferSource{URL: p.t.url}
	}
	var report TransferReport
	for _, p := range tr.Targets {
		report.Targets = append(report.Targets, x.bring(ctx, p))
		if ctx.Err() != nil {
			break
		}
	}
	for _, p := range tr.Sources {
		report.Sources = append(report.Sources, *x.sources[p])
	}
	report.Notes = x.notes
	return report, ctx.Err()
}

// transfer is a Transfer under way.
type transfer struct {
	Transfer
	lists   map[listKey]map[string]*nostr.Event // of relays that are paged
	diffs   map[diffKey]difference
	sources map[*Peer]*TransferSource
	fetched map[string]*nostr.Event // by id
	keeps   map[*Peer]bool          // whether a relay shows history
	notes   []string
	arrived map[string]map[string]niptemp.OrderItem // by contract and id
}

type listKey struct {
	peer   *Peer
	filter int
}

type diffKey struct {
	a, b   *Peer
	filter int
}

// difference is what only each of two relays has.
type difference struct{ a, b [][32]byte }

func (x *transfer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(x.notes, text) {
		x.notes = append(x.notes, text)
	}
}

// fail notes an error of a relay as a source, the first.
func (x *transfer) fail(p *Peer, err error) {
	if s := x.sources[p]; s != nil && s.Err == nil {
		s.Err = err
	}
}

// bring brings one target up to date.
func (x *transfer) bring(ctx context.Context, to *Peer) TransferTarget {
	t := TransferTarget{URL: to.t.url}
	lacked := map[string]*offered{}
	for _, from := range x.Sources {
		if from == to || x.sources[from].Err != nil {
			continue
		}
		x.Progress(fmt.Sprintf("comparing %s with %s", from.t.url, to.t.url))
		if err := x.compare(ctx, from, to, lacked); err != nil {
			var failed *PeerError
			switch {
			case errors.As(err, &failed) && failed.Peer == to:
				t.Err = failed.Err
			case errors.As(err, &failed):
				x.fail(from, failed.Err)
			default:
				x.fail(from, err)
			}
		}
		if t.Err != nil || ctx.Err() != nil {
			return t
		}
	}
	t.Lacked = len(lacked)
	if t.Lacked == 0 {
		return t
	}
	events, err := x.plan(ctx, to, lacked, &t)
	if err != nil {
		t.Err = err
		return t
	}
	x.arrivals(ctx, to, events)
	x.send(ctx, to, events, &t)
	return t
}

// offered is an event that a target lacks, and the relays that have it. Without
// an event it is an address of which they may have older versions.
type offered struct {
	event *nostr.Event
	from  []*Peer
}
