package transfer

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

const (
	// publishPatience is the least time that an event gets which is moved: a relay
	// may hold back a crowd of them by rate.
	publishPatience = time.Minute
	// peerLanes is how many rows of events are sent to a relay at once.
	peerLanes = 32
	// fetchBatch is how many events are asked for by id at a time.
	fetchBatch = 200
)

// Peer is one relay that events are moved from or to, in the name of one key and
// without a pair of agent and owner. It has one connection, which is made when
// it is needed and made anew when it was lost; AUTH is answered as soon as the
// relay asks. Methods may be called from several goroutines.
//
// Options.Timeout bounds a step and not the whole: one page, one batch, one
// message of a reconciliation. Options.Limits.Events and Bytes bound what one
// method takes.
type Peer struct {
	c      *client.Client
	t      client.Target
	shared bool // the connection is the client's

	mu    sync.Mutex
	nips  []int // that the relay lists; nil: not asked
	shown bool  // it wants to know who asks: see discreetly
}

// NewPeer makes a peer of a relay. It connects when something is asked. The
// error is ErrInvalid: the URL is no relay's.
func NewPeer(id client.Identity, url string, o client.Options) (*Peer, error) {
	o.Relays = []string{url}
	c := client.New(id, o)
	t := c.Targets()[0]
	if t.Err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrInvalid, t.Err)
	}
	return &Peer{c: c, t: t}, nil
}

// Close ends the connection, unless it is a client's (see Peers). What is
// under way fails.
func (p *Peer) Close() {
	if !p.shared {
		p.c.Close()
	}
}

// URL is the relay's, as it was given.
func (p *Peer) URL() string { return p.t.URL }

// Canonical is the URL in the form in which relays are compared.
func (p *Peer) Canonical() string { return p.t.Canonical }

// Identity is who asks.
func (p *Peer) Identity() client.Identity { return p.c.Identity() }

// Supports reports whether the relay's information document (NIP-11) lists a
// NIP. A relay without such a document lists none.
func (p *Peer) Supports(ctx context.Context, nip int) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nips == nil {
		ctx, done := p.c.Operation(ctx)
		defer done()
		answer, err := p.c.HTTP().Call(ctx, p.t, client.Call{Method: http.MethodGet, Kind: "application/nostr+json"})
		if err != nil && ctx.Err() != nil {
			return false, err
		}
		p.nips = client.ListedNIPs(answer.Text)
	}
	return slices.Contains(p.nips, nip), nil
}

// Pages calls take with every event that the relay shows of a filter, newest
// first, each once: page after page, those of one second not torn apart. The
// status says whether that was all. An error of take ends it and is returned.
func (p *Peer) Pages(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error) (client.RelayStatus, error) {
	var status client.RelayStatus
	err := p.discreetly(f, take, func(q nostr.Filter, take func(*nostr.Event) error, prepare func(*client.Conn) error) (err error) {
		status, err = p.paged(q, take, func(pages *client.Pager) error {
			return p.step(ctx, func(ctx context.Context) error {
				return p.c.With(ctx, p.t, func(conn *client.Conn) error {
					if err := prepare(conn); err != nil {
						return err
					}
					return pages.Page(ctx, conn)
				})
			})
		})
		return err
	})
	return status, err
}

// History is Pages of superseded versions (GET /history), for a filter of one
// kind, one author and at most one d. ErrNoHistory: the relay shows none, or is
// one that only the agent's list names.
func (p *Peer) History(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error) (client.RelayStatus, error) {
	if p.t.Listed {
		return client.RelayStatus{URL: p.t.URL}, client.ErrHistoryUnasked
	}
	if len(f.Kinds) != 1 || len(f.Authors) != 1 || len(f.Tags["d"]) > 1 {
		return client.RelayStatus{URL: p.t.URL}, fmt.Errorf("%w: history is asked for by one kind and one author", client.ErrInvalid)
	}
	return p.paged(f, take, func(pages *client.Pager) error {
		return p.step(ctx, func(ctx context.Context) error { return p.c.HTTP().HistoryPage(ctx, p.t, pages) })
	})
}

// paged asks for page after page and keeps none.
func (p *Peer) paged(f nostr.Filter, take func(*nostr.Event) error, next func(*client.Pager) error) (client.RelayStatus, error) {
	start := time.Now()
	pages := client.NewPager(&client.Collector{}, f, p.c.Options().Limits)
	pages.Sink, pages.Began = take, nostr.Timestamp(p.c.Now())
	var err error
	for pages.More() && err == nil {
		err = next(pages)
	}
	return pages.Answer(p.t, err, start).Status, err
}

// step bounds one step.
func (p *Peer) step(ctx context.Context, do func(context.Context) error) error {
	ctx, done := p.c.Operation(ctx)
	defer done()
	return do(ctx)
}

// Fetch calls take with the events of those ids, in any order, each once, and
// returns the ids that the relay did not deliver. Every event fits f, the filter
// under which the relay listed the ids.
func (p *Peer) Fetch(ctx context.Context, f nostr.Filter, ids [][32]byte, take func(*nostr.Event) error) (missing [][32]byte, err error) {
	spent := client.Budget{Limits: p.c.Options().Limits}
	for batch := range slices.Chunk(ids, fetchBatch) {
		pending := map[string]bool{}
		for _, id := range batch {
			pending[hex.EncodeToString(id[:])] = true
		}
		// A relay may give fewer at once than were asked for.
		for before := -1; len(pending) > 0 && len(pending) != before; {
			before = len(pending)
			err := p.discreetly(f, take, func(q nostr.Filter, take func(*nostr.Event) error, prepare func(*client.Conn) error) error {
				return p.fetch(ctx, q, pending, &spent, take, prepare)
			})
			if err != nil {
				return nil, err
			}
		}
		for _, id := range batch {
			if pending[hex.EncodeToString(id[:])] {
				missing = append(missing, id)
			}
		}
	}
	return missing, nil
}

// fetch asks for all that are pending once, and takes off what came.
func (p *Peer) fetch(ctx context.Context, f nostr.Filter, pending map[string]bool, spent *client.Budget, take func(*nostr.Event) error, prepare func(*client.Conn) error) error {
	f.IDs = slices.Sorted(maps.Keys(pending))
	f.Limit = len(f.IDs)
	col := &client.Collector{}
	return p.step(ctx, func(ctx context.Context) error {
		return p.c.With(ctx, p.t, func(conn *client.Conn) error {
			if err := prepare(conn); err != nil {
				return err
			}
			_, err := conn.Request(ctx, f, func(raw json.RawMessage) error {
				if err := spent.Spend(len(raw)); err != nil {
					return err
				}
				ev, err := col.Admit(raw, f)
				if err != nil {
					return spent.Reject(err)
				}
				if !pending[ev.ID] {
					return nil // asked again after an AUTH
				}
				delete(pending, ev.ID)
				return take(ev)
			})
			return err
		})
	})
}

// Publish sends one event and waits for its OK.
func (p *Peer) Publish(ctx context.Context, ev *nostr.Event) client.PublishStatus {
	ctx, done := context.WithTimeout(ctx, max(p.c.Options().Timeout, publishPatience))
	defer done()
	return p.c.PublishTo(ctx, p.t, ev, time.Now())
}

// PublishAll sends rows of events: several rows at a time, and within a row each
// event after the OK of the one before. answered is told what the relay said,
// one event at a time. A relay that fails, rather than refuses, gets no further
// events: the error is why, and those that were not sent are not answered.
func (p *Peer) PublishAll(ctx context.Context, rows [][]*nostr.Event, answered func(*nostr.Event, client.PublishStatus)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	var sending sync.WaitGroup
	window := make(chan struct{}, peerLanes)
	for _, row := range rows {
		window <- struct{}{}
		if ctx.Err() != nil {
			<-window
			break
		}
		sending.Go(func() {
			defer func() { <-window }()
			for _, ev := range row {
				if ctx.Err() != nil {
					return
				}
				s := p.Publish(ctx, ev)
				if s.Err != nil && !errors.As(s.Err, new(*client.RefusalError)) { // not the relay's word
					stop(s.Err)
					return
				}
				mu.Lock()
				answered(ev, s)
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	return context.Cause(ctx)
}

// rawID is the id of an event that was checked.
func rawID(ev *nostr.Event) (id [32]byte) {
	_, _ = hex.Decode(id[:], []byte(ev.ID)) // wire has seen to its form
	return id
}

// discreetly asks a relay as what it is: one that only the agent's list names
// is told as little as by askListed. What ask takes is matched against the
// filter here; it may be asked twice.
func (p *Peer) discreetly(f nostr.Filter, take func(*nostr.Event) error, ask func(q nostr.Filter, take func(*nostr.Event) error, prepare func(*client.Conn) error) error) error {
	if !p.t.Listed {
		return ask(f, take, func(*client.Conn) error { return nil })
	}
	wide := nostr.Filter{IDs: f.IDs, Kinds: f.Kinds, Authors: f.Authors, Since: f.Since, Until: f.Until, LimitZero: f.LimitZero}
	matching := func(ev *nostr.Event) error {
		if !f.Matches(ev) {
			return nil
		}
		return take(ev)
	}
	p.mu.Lock()
	shown := p.shown // it has wanted to know who asks
	p.mu.Unlock()
	if !shown {
		err := ask(wide, matching, func(*client.Conn) error { return nil })
		if !errors.Is(err, client.ErrAuth) {
			return err
		}
		p.mu.Lock()
		p.shown = true
		p.mu.Unlock()
	}
	wide.Tags = client.OwnersOnly(f.Tags)
	return ask(wide, matching, (*client.Conn).Show)
}
