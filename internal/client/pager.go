package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Pager asks one relay for page after page, each up to the time of the oldest
// event of the one before, until there is no more. A head that is replaced
// between two of several pages is in neither: its old version is gone before
// its page is asked for, its new one is newer than those asked for before.
// Therefore what was written since the paging began is asked for in the end.
type Pager struct {
	col    *Collector
	filter nostr.Filter
	budget Budget
	Began  nostr.Timestamp // when paging began; 0: what changes meanwhile is nobody's concern

	Events  []*nostr.Event           // distinct; none with a sink
	Sink    func(*nostr.Event) error // takes events in place of events; nil: none
	count   int                      // distinct events that came
	seen    map[string]bool
	until   *nostr.Timestamp // of the next page; nil: the filter's own
	before  string           // the last event of the page before, where pages go by arrival
	since   *nostr.Timestamp // of the pages about what was written meanwhile; nil before
	largest int              // events in the largest page so far
	pages   int              // with something new
	done    bool
	cut     bool // the relay may have more than it gave
}

// NewPager returns a Pager over what a relay has for a filter.
func NewPager(col *Collector, filter nostr.Filter, limits Limits) *Pager {
	return &Pager{col: col, filter: filter, budget: Budget{Limits: limits}, seen: map[string]bool{}}
}

// More reports whether there is another page to ask for.
func (p *Pager) More() bool { return !p.done }

// Page asks for the next page. Called again after an error it asks for the same
// one again.
func (p *Pager) Page(ctx context.Context, conn *Conn) error {
	f := p.filter
	if p.until != nil {
		f.Until = p.until
	}
	if p.since != nil {
		f.Since = p.since
	}
	if !f.LimitZero {
		f.Limit = p.budget.Limits.Page
		if left := p.filter.Limit - p.count; p.filter.Limit > 0 && p.until == nil && p.since == nil {
			f.Limit = min(f.Limit, left)
		}
	}
	page := pageCount{oldest: -1, ids: map[string]bool{}}
	eose, err := conn.Request(ctx, f, func(raw json.RawMessage) error {
		return p.take(raw, f, &page)
	})
	if err != nil {
		return err
	}
	p.turn(page, eose, f)
	if p.done {
		p.done = !p.meanwhile()
	}
	return nil
}

// behind is how far an author's clock is reckoned to be slow.
const behind = 15 * 60

// meanwhile turns to what was written since paging began, once and where
// anything can be missed, and reports whether it did.
func (p *Pager) meanwhile() bool {
	since := p.Began - behind
	f := p.filter
	switch {
	case p.Began == 0, p.since != nil, p.pages < 2,
		f.Limit > 0 && p.count >= f.Limit,
		f.Until != nil && *f.Until < since,
		f.Kinds != nil && !slices.ContainsFunc(f.Kinds, Replaceable):
		return false
	}
	if f.Since != nil {
		since = max(since, *f.Since)
	}
	p.since, p.until = &since, f.Until
	return true
}

// Replaceable reports whether an event of a kind takes the place of another
// (NIP-01).
func Replaceable(kind int) bool {
	return nostr.IsReplaceableKind(kind) || nostr.IsAddressableKind(kind)
}

// pageCount is what is known of the page that is being read.
type pageCount struct {
	ids    map[string]bool
	fresh  int             // events that no page had before
	oldest nostr.Timestamp // -1: none
	newest nostr.Timestamp
	last   string // id
}

// take looks at one event of a page.
func (p *Pager) take(raw json.RawMessage, f nostr.Filter, page *pageCount) error {
	if err := p.budget.Spend(len(raw)); err != nil {
		return err
	}
	ev, err := p.col.Admit(raw, f)
	if err != nil {
		return p.budget.Reject(err)
	}
	if page.ids[ev.ID] {
		return nil
	}
	page.ids[ev.ID], page.last = true, ev.ID
	if page.oldest < 0 || ev.CreatedAt < page.oldest {
		page.oldest = ev.CreatedAt
	}
	page.newest = max(page.newest, ev.CreatedAt)
	if p.seen[ev.ID] {
		return nil
	}
	p.seen[ev.ID] = true
	p.count++
	page.fresh++
	if p.Sink != nil {
		return p.Sink(ev)
	}
	p.Events = append(p.Events, ev)
	return nil
}

// turn decides what follows a page.
//
// A relay that says "finish" (NIP-67) has no more. Without that word, a page
// that is empty is the end. A page with something new is followed by one that
// starts at its oldest second, so that events of that second which did not fit
// are not lost. A page with nothing new ends that second: either it is known
// in full, or a cap below its size hides the rest for good, which cannot be
// told if no page was ever larger; then the answer counts as cut. (A cap of a
// single event is not reckoned with: every relay with one event would be
// suspect.)
func (p *Pager) turn(page pageCount, eose Message, f nostr.Filter) {
	n := len(page.ids)
	more := eose.hinted("more")
	p.cut = p.cut || eose.hinted("damaged") // no further page has what is damaged there
	p.largest = max(p.largest, n)
	if page.fresh > 0 {
		p.pages++
	}
	switch {
	case p.filter.LimitZero, p.filter.Search != "":
		// Neither can be paged: search is ordered by rank.
		p.done, p.cut = true, more
	case p.filter.Limit > 0 && p.count >= p.filter.Limit:
		p.done = true
	case eose.hinted("finish"):
		p.done = true
	case n == 0:
		p.done, p.cut = true, p.cut || more
	case n == 1 && !more && oneAddress(p.filter):
		// A relay keeps one version of an address, and one that keeps more
		// shows more than one.
		p.done = true
	case page.fresh > 0:
		p.until = &page.oldest
	case page.oldest < page.newest:
		p.until = &page.oldest
	default:
		p.cut = p.cut || more || n > 1 && n >= p.largest
		p.until = new(page.oldest - 1)
		p.done = page.oldest == 0
	}
	if p.until != nil && f.Since != nil && *p.until < *f.Since {
		p.done = true
	}
}

// oneAddress reports whether at most one event fits a filter on a relay that
// replaces addressable events (NIP-01).
func oneAddress(f nostr.Filter) bool {
	return len(f.Kinds) == 1 && nostr.IsAddressableKind(f.Kinds[0]) && len(f.Authors) == 1 && len(f.Tags["d"]) == 1 ||
		len(f.Kinds) == 1 && nostr.IsReplaceableKind(f.Kinds[0]) && len(f.Authors) == 1 || len(f.IDs) == 1
}

// Answer returns what has come in so far.
func (p *Pager) Answer(t Target, err error, start time.Time) Answer {
	return Answer{Events: p.Events, Status: RelayStatus{
		URL: t.URL, Err: err, Events: p.count, Rejected: p.budget.Rejected, Cut: p.cut,
		Complete: err == nil && p.done && !p.cut && p.budget.Rejected == 0, Took: time.Since(start),
	}}
}
