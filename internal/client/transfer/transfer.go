// Package transfer moves events between relays. A Peer is one relay without a
// pair of agent and owner; a Transfer brings relays up to date with others.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
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

// Report is what a transfer did, or would do.
type Report struct {
	Sources []Source
	Targets []Target
	Notes   []string // what was done otherwise than it might be
}

// Source is how one relay gave what it has.
type Source struct {
	URL      string
	Missing  int   // events that it lists and did not deliver
	Rejected int   // events that are wrong or were not asked for
	Cut      bool  // it may have more than it showed
	Err      error // why it could not be asked in full
}

// Target is what one relay got.
type Target struct {
	URL      string
	Lacked   int // events that some source has and it does not
	Sent     int // it took them; with DryRun: they would be sent
	Past     int // of Sent, superseded versions
	Newer    int // it has a newer version
	Deleted  int // their author has deleted them there
	Expired  int // not sent: their time is over (NIP-40)
	Others   int // not sent: requests to vanish that name other relays (NIP-62)
	NotMoved []Moved
	Refused  []Moved
	Err      error // it failed, and was given up

	past map[string]bool // ids of superseded versions that are to be sent
}

// Moved is an event that did not come to a target, and why.
type Moved struct {
	Event  *nostr.Event
	Reason string
}

// UpToDate reports whether a target has in the end what the sources have.
func (t Target) UpToDate() bool { return t.Err == nil && len(t.Refused) == 0 }

// Whole reports whether everything that a source has was seen.
func (s Source) Whole() bool {
	return s.Err == nil && s.Missing == 0 && s.Rejected == 0 && !s.Cut
}

// Doubt notes that what a relay has may not be known in full, unless it is said
// already that it failed.
func (r *Report) Doubt(url string, err error) {
	i := slices.IndexFunc(r.Sources, func(s Source) bool { return s.URL == url })
	switch {
	case i < 0:
		r.Sources = append(r.Sources, Source{URL: url, Err: err})
	case r.Sources[i].Err == nil:
		r.Sources[i].Err = err
	}
}

// Run does it. Failures are in the report; the error is that of ctx.
func (tr Transfer) Run(ctx context.Context) (Report, error) {
	x := &transfer{Transfer: tr, lists: map[listKey]map[string]*nostr.Event{}, diffs: map[diffKey]difference{},
		sources: map[*Peer]*Source{}, fetched: map[string]*nostr.Event{}, keeps: map[*Peer]bool{}, hides: map[*Peer]hiding{}, unshown: map[*Peer]error{}, orderless: map[*Peer]bool{}, held: map[*Peer]*client.Budget{},
		contracts: map[*Peer]*contractPast{}, arrived: map[string]map[string]niptemp.OrderItem{}}
	if x.Progress == nil {
		x.Progress = func(string) {}
	}
	for _, p := range tr.Sources {
		x.sources[p] = &Source{URL: p.t.URL}
	}
	// All is fetched before anything is sent: what is sent to a relay that is a
	// source as well supersedes what it has.
	var report Report
	lacked := make([]map[string]*offered, len(tr.Targets))
	for i, p := range tr.Targets {
		t := Target{URL: p.t.URL}
		lacked[i], t.Err = x.gather(ctx, p)
		t.Lacked = len(lacked[i])
		report.Targets = append(report.Targets, t)
	}
	for i, p := range tr.Targets {
		if t := &report.Targets[i]; t.Err == nil && ctx.Err() == nil {
			t.Err = x.bring(ctx, p, lacked[i], t)
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
	lists     map[listKey]map[string]*nostr.Event // of relays that are paged
	diffs     map[diffKey]difference
	sources   map[*Peer]*Source
	fetched   map[string]*nostr.Event // by id
	keeps     map[*Peer]bool          // whether a relay shows history
	hides     map[*Peer]hiding
	contracts map[*Peer]*contractPast
	unshown   map[*Peer]error          // why a relay refused to show history
	orderless map[*Peer]bool           // does not tell the order of contracts
	held      map[*Peer]*client.Budget // what is kept of each relay, whatever way it came
	notes     []string
	arrived   map[string]map[string]niptemp.OrderItem // by contract and id
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

// hold counts an event of a relay that is kept until the end.
func (x *transfer) hold(p *Peer, ev *nostr.Event) error {
	b := x.held[p]
	if b == nil {
		b = &client.Budget{Limits: p.c.Options().Limits}
		x.held[p] = b
	}
	size := len(ev.Content)
	for _, tag := range ev.Tags {
		for _, value := range tag {
			size += len(value)
		}
	}
	return b.Spend(size)
}

// fail notes an error of a relay as a source, the first; nil is none.
func (x *transfer) fail(p *Peer, err error) {
	if s := x.sources[p]; s != nil && s.Err == nil {
		s.Err = err
	}
}

// gather fetches what sources have and a target lacks. The error is the
// target's.
func (x *transfer) gather(ctx context.Context, to *Peer) (map[string]*offered, error) {
	lacked := map[string]*offered{}
	for _, from := range x.Sources {
		if from == to || x.sources[from].Err != nil || ctx.Err() != nil {
			continue
		}
		x.Progress(fmt.Sprintf("comparing %s with %s", from.t.URL, to.t.URL))
		err := x.compare(ctx, from, to, lacked)
		var failed *PeerError
		switch {
		case errors.As(err, &failed) && failed.Peer == to:
			return nil, failed.Err
		case errors.As(err, &failed):
			x.fail(from, failed.Err)
		case err != nil:
			x.fail(from, err)
		}
	}
	return lacked, nil
}

func (x *transfer) bring(ctx context.Context, to *Peer, lacked map[string]*offered, t *Target) error {
	events, err := x.plan(ctx, to, lacked, t)
	if err != nil {
		return err
	}
	x.arrivals(ctx, to, events)
	return x.send(ctx, to, events, t)
}

// offered is an event that a target lacks, and the relays that have it.
type offered struct {
	event *nostr.Event
	from  []*Peer
}
