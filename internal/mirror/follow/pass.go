package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/mirror"
	"engramd/nips/nip77"
)

// Depth is how much of a relay is compared.
type Depth int

// How much is compared: what seems to differ; everything; everything by
// reading it, whatever the relay says of its set.
const (
	Quick Depth = iota
	Full
	Read
)

const (
	// fullEvery is how long a relay that does not reconcile goes without being
	// read in full.
	fullEvery = 24 * time.Hour
	// slack is how far clocks of writers are reckoned to differ.
	slack = time.Hour
	// maxRounds is how often a relay is compared in one pass: what is written
	// meanwhile differs again.
	maxRounds = 4
	// batch is how many events are put at once.
	batch = 500
)

var (
	errUnsettled = errors.New("its answers do not agree with one another")
	errCut       = errors.New("it may have more than it showed")
	errForgotten = fmt.Errorf("%w: begin again", mirror.ErrForgotten)
)

// pass brings what the copy has from one relay up to date.
type pass struct {
	f       *Follower
	src     Source
	relay   string      // canonical
	mark    mirror.Mark // as the pass began
	tell    func(done, of int)
	alive   func() // called with each event that comes; nil tells nobody
	done    int
	known   map[[32]byte]bool  // that the copy had from it
	came    map[[32]byte]int64 // created_at of what was put, and not looked for since
	useless map[[32]byte]int64 // of what the relay has and the copy does not keep
	outcome Outcome
}

// Outcome is what became of one relay in a pass.
type Outcome struct {
	URL  string
	Took int // events that the copy did not have from it
	Left int // events that it has no more
	// Err is why the copy may not be what the relay shows; nil if it is.
	Err error
}

func (f *Follower) pass(ctx context.Context, src Source, depth Depth, tell func(done, of int), alive func()) Outcome {
	var p *pass
	for range 2 {
		p = &pass{f: f, src: src, relay: src.Canonical(), tell: tell, alive: alive,
			known: map[[32]byte]bool{}, came: map[[32]byte]int64{}, useless: map[[32]byte]int64{}, outcome: Outcome{URL: src.URL()}}
		if p.outcome.Err = p.run(ctx, depth); !errors.Is(p.outcome.Err, errForgotten) {
			break
		}
		f.unkept.forget(p.relay) // what was put before was put elsewhere
	}
	f.o.Log.Debug("compared with a relay", "relay", src.URL(), "took", p.outcome.Took, "left", p.outcome.Left, "error", p.outcome.Err)
	return p.outcome
}

// run tries the cheapest way that the depth allows, and then the next.
func (p *pass) run(ctx context.Context, depth Depth) error {
	mark, err := p.f.o.Store.Begin(ctx, p.relay)
	if err != nil {
		return broken(err)
	}
	p.mark = mark
	held, err := p.held(ctx)
	if err != nil {
		return err
	}
	for _, it := range held {
		p.known[it.ID] = true
	}
	now := p.f.o.Clock()
	if now.Sub(mark.Compared) >= fullEvery || mark.Compared.After(now) {
		depth = max(depth, Full)
	}
	if depth < Read && len(held) > 0 {
		if err := p.reconcile(ctx, held, depth == Full); !p.otherwise(ctx, err) {
			return err
		}
	}
	if depth < Full && mark.Complete {
		if err := p.since(ctx, mark); !p.otherwise(ctx, err) {
			return err
		}
	}
	return p.read(ctx)
}

// otherwise reports whether a relay that failed in one way may be asked in
// another.
func (p *pass) otherwise(ctx context.Context, err error) bool {
	var refusal *client.RefusalError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, errStore):
		return false
	case errors.Is(err, client.ErrNoSync), errors.Is(err, client.ErrNoCount), errors.Is(err, client.ErrMisbehaved), errors.Is(err, errUnsettled):
		return true
	}
	return errors.As(err, &refusal) && !errors.Is(err, client.ErrAuth)
}

// reconcile compares sets until nothing differs. Both sides of a difference are
// looked at: what is named must come, and what is not named must not. In full, the
// relay must count as many, too: it may list less than it has.
func (p *pass) reconcile(ctx context.Context, held []nip77.Item, full bool) error {
	for round := 0; ; round++ {
		began := p.f.o.Clock()
		have, need, err := p.src.Reconcile(ctx, p.f.o.Filter, slices.Clone(held))
		if err != nil {
			return err
		}
		equal := len(have)+len(need) == 0
		if equal && full {
			if equal, err = p.counts(ctx, held); err != nil {
				return err
			}
		}
		switch {
		case equal:
			return p.confirm(ctx, began, held, full)
		case round == maxRounds, len(have)+len(need) == 0 && round > 0:
			return errUnsettled
		}
		if err := p.lose(ctx, have); err != nil {
			return err
		}
		if err := p.fetch(ctx, need); err != nil {
			return err
		}
		if held, err = p.held(ctx); err != nil {
			return err
		}
	}
}

// counts reports whether the relay counts as many as are held, if it counts.
func (p *pass) counts(ctx context.Context, held []nip77.Item) (bool, error) {
	n, err := p.src.Count(ctx, p.f.o.Filter)
	if errors.Is(err, client.ErrNoCount) {
		return true, nil
	}
	return n == int64(len(held)), err
}

// held is what the relay was last seen to have: what the copy has from it, and
// what the copy has no use for.
func (p *pass) held(ctx context.Context) ([]nip77.Item, error) {
	held, err := p.f.o.Store.Holds(ctx, p.relay)
	if err != nil {
		return nil, broken(err)
	}
	has := map[[32]byte]bool{}
	for _, it := range held {
		has[it.ID] = true
	}
	maps.Copy(p.useless, p.f.unkept.of(p.relay))
	for id, created := range p.came {
		if !has[id] {
			p.useless[id] = created
			p.f.unkept.note(p.relay, id, created)
		}
	}
	clear(p.came)
	for id, created := range p.useless {
		if !has[id] {
			held = append(held, nip77.Item{CreatedAt: created, ID: id})
		}
	}
	return held, nil
}

// fetch takes what the relay has and the copy has not.
func (p *pass) fetch(ctx context.Context, need [][32]byte) error {
	if len(need) == 0 {
		return nil
	}
	put := p.putter(ctx, len(need))
	_, err := p.src.Fetch(ctx, p.f.o.Filter, need, put.take)
	return cmp.Or(put.flush(), err)
}

// lose takes off what the relay does not even give by its id.
func (p *pass) lose(ctx context.Context, ids [][32]byte) error {
	if len(ids) == 0 {
		return nil
	}
	gone, err := p.src.Fetch(ctx, p.f.o.Filter, ids, func(*nostr.Event) error { return nil })
	if err != nil || len(gone) == 0 {
		return err
	}
	p.outcome.Left += len(gone)
	// A version that was of no use beside a newer one is of use without it.
	p.f.unkept.forget(p.relay)
	clear(p.useless)
	_, err = p.f.o.Store.Lost(ctx, p.relay, gone)
	return broken(err)
}

// since takes what was written since the last pass, and counts.
func (p *pass) since(ctx context.Context, mark mirror.Mark) error {
	filter := p.f.o.Filter
	filter.Since = new(nostr.Timestamp(max(0, mark.Newest-int64(slack/time.Second))))
	for range 2 { // something may have been written in between
		began := p.f.o.Clock()
		if _, err := p.pages(ctx, filter, 0, true); err != nil {
			return err
		}
		held, err := p.held(ctx)
		if err != nil {
			return err
		}
		equal, err := p.counts(ctx, held)
		if err != nil {
			return err
		}
		if equal {
			return p.confirm(ctx, began, held, false)
		}
	}
	return errUnsettled
}

// read takes everything that the relay shows, and takes off what it does not.
func (p *pass) read(ctx context.Context) error {
	began := p.f.o.Clock()
	held, err := p.held(ctx)
	if err != nil {
		return err
	}
	of := 0
	if p.tell != nil {
		if n, err := p.src.Count(ctx, p.f.o.Filter); err == nil {
			of = int(min(n, 1<<30))
		}
	}
	shown, err := p.pages(ctx, p.f.o.Filter, of, false)
	if err != nil {
		return err
	}
	var hidden [][32]byte
	for _, it := range held {
		if !shown[it.ID] {
			hidden = append(hidden, it.ID)
		}
	}
	if err := p.lose(ctx, hidden); err != nil {
		return err
	}
	if held, err = p.held(ctx); err != nil {
		return err
	}
	return p.confirm(ctx, began, held, true)
}

// pages takes all that the relay shows of a filter, or what is new of it, and
// returns the ids.
func (p *pass) pages(ctx context.Context, filter nostr.Filter, of int, fresh bool) (map[[32]byte]bool, error) {
	shown := map[[32]byte]bool{}
	put := p.putter(ctx, of)
	status, err := p.src.Pages(ctx, filter, func(ev *nostr.Event) error {
		id := idOf(ev)
		shown[id] = true
		if fresh && p.known[id] {
			return nil
		}
		return put.take(ev)
	})
	if err := cmp.Or(put.flush(), err); err != nil {
		return nil, err
	}
	if !status.Complete {
		return nil, errCut
	}
	return shown, nil
}

// confirm marks that the relay was found to be as the copy has it, unless the
// copy lost what it had from it meanwhile: another process may forget a relay,
// and somebody may remove the file.
func (p *pass) confirm(ctx context.Context, began time.Time, held []nip77.Item, full bool) error {
	m, err := p.f.o.Store.Mark(ctx, p.relay)
	if err != nil {
		return broken(err)
	}
	if m.Life != p.mark.Life {
		return errForgotten
	}
	for _, it := range held {
		// What is dated ahead must not hide what is written until then.
		if it.CreatedAt <= began.Unix() {
			m.Newest = max(m.Newest, it.CreatedAt)
		}
	}
	m.Complete = true
	if began.After(m.Confirmed) || m.Confirmed.After(p.f.o.Clock()) {
		m.Confirmed = began
	}
	if full {
		m.Compared = began
	}
	if err := p.f.o.Store.SetMark(ctx, p.relay, m); !errors.Is(err, mirror.ErrForgotten) {
		return broken(err)
	}
	return errForgotten
}

// broken makes an error the copy's.
func broken(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errStore, err)
}
