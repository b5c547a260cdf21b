package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/memory/localcopy"
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
	errForgotten = fmt.Errorf("%w: begin again", localcopy.ErrForgotten)
)

// pass brings what the copy has from one relay up to date.
type pass struct {
	f       *Follower
	src     Source
	relay   string         // canonical
	mark    localcopy.Mark // as the pass began
	tell    func(done, of int)
	alive   func() // called with each event that comes; nil tells nobody
	done    int
	known   map[[32]byte]bool  // that the copy had from it
	came    map[[32]byte]int64 // created_at of what was put, and not looked for since
	useless map[[32]byte]int64 // of what the relay has and the copy does not keep
	damaged int                // events that the relay has, and cannot give
	outcome Outcome
	passed  bool // Options.Passed was called
}

// Outcome is what became of one relay in a pass.
type Outcome struct {
	URL  string
	Took int // events that the copy did not have from it
	Left int // events that it has no more
	// Useless is how many events it shows that the copy does not keep.
	Useless int
	// Whole is whether everything was compared, by sets or by reading it: not only what
	// was written of late.
	Whole bool
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
	p.tellPassed(ctx, false)
	p.outcome.Useless = len(p.useless)
	if ctx.Err() != nil && errors.Is(p.outcome.Err, errStore) {
		p.outcome.Err = fmt.Errorf("%w: %w", client.ErrTimeout, context.Cause(ctx)) // the copy was interrupted
	}
	f.o.Log.Debug("compared with a relay", "relay", src.URL(), "took", p.outcome.Took, "left", p.outcome.Left, "error", p.outcome.Err)
	return p.outcome
}

// run compares, and then asks for what is not kept as it was signed.
func (p *pass) run(ctx context.Context, depth Depth) error {
	if err := p.compare(ctx, depth); err != nil {
		return err
	}
	bare, err := p.f.o.Store.Bare(ctx, p.relay)
	if err != nil {
		return broken(err)
	}
	return p.fetch(ctx, bare)
}

// compare tries the cheapest way that the depth allows, and then the next.
func (p *pass) compare(ctx context.Context, depth Depth) error {
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
			p.outcome.Whole = err == nil
			return err
		}
	}
	if depth < Full && mark.Complete {
		if err := p.since(ctx, mark); !p.otherwise(ctx, err) {
			return err
		}
	}
	err = p.read(ctx)
	p.outcome.Whole = err == nil
	return err
}

// otherwise reports whether a relay that failed in one way may be asked in
// another.
func (p *pass) otherwise(ctx context.Context, err error) bool {
	var refusal *client.RefusalError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, errStore):
		return false
	case errors.Is(err, transfer.ErrNoSync), errors.Is(err, transfer.ErrNoCount), errors.Is(err, client.ErrMisbehaved), errors.Is(err, errUnsettled):
		return true
	}
	return errors.As(err, &refusal) && !errors.Is(err, client.ErrAuth)
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
	p.tellPassed(ctx, full)
	if err := p.f.o.Store.SetMark(ctx, p.relay, m); !errors.Is(err, localcopy.ErrForgotten) {
		return broken(err)
	}
	return errForgotten
}

// tellPassed calls Options.Passed once: before the copy says that it is current, so that
// who reads that finds what came of it.
func (p *pass) tellPassed(ctx context.Context, full bool) {
	if p.f.o.Passed != nil && !p.passed && ctx.Err() == nil {
		p.passed = true
		p.f.o.Passed(ctx, full)
	}
}

// broken makes an error the copy's.
func broken(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errStore, err)
}
