package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/agent/why"
	"engramd/internal/client"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/project"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// Snapshot is a snapshot of the whole memory.
type Snapshot struct {
	ID        string
	Memories  int   // texts, the core included
	Size      int64 // bytes
	CreatedAt int64
	// Unchanged says that the snapshot was made before, and nothing has changed
	// since.
	Unchanged bool
	Status    client.Status
}

var (
	// ErrNothing means that there is no memory to make a snapshot of.
	ErrNothing = errors.New("there is no memory to make a snapshot of")
	// ErrInUse means that another process is using the agent's snapshots.
	ErrInUse = errors.New("the agent's snapshots are in use")
)

// Proposals are what others want to be remembered, corrected or removed.
// *proposals.Box implements it; its documentation says which errors each method
// returns.
type Proposals interface {
	List(ctx context.Context) (proposals.Inbox, client.Status, error)
	Get(ctx context.Context, id string) (proposals.Item, client.Status, error)
	Text(ctx context.Context, item proposals.Item) (string, error)
	Accept(ctx context.Context, id string, o proposals.AcceptOptions) (proposals.Accepted, error)
	Reject(ctx context.Context, id, reason string) (proposals.Item, client.Status, error)
}

// ServeOptions say what a Live session does beside answering.
type ServeOptions struct {
	// Box is the agent's box of proposals, nil for an owner; Accept accepts the
	// owner's at the start.
	Box    *proposals.Box
	Accept bool
	// Attest signs where the session continues from.
	Attest bool
	// Snapshot saves the whole memory in a file on this machine.
	Snapshot func(ctx context.Context, label string) (Snapshot, error)
	// Patience bounds what is done beside.
	Patience time.Duration
	// Plans has the plans that this machine has begun finished, and new ones made.
	Plans bool
}

// Live is a session that serves others: it follows the relays, knows the session of
// the harness in which it runs, and counts what is used and written. It answers for
// the MCP server.
type Live struct {
	*Memory
	s       *Session
	o       ServeOptions
	log     *slog.Logger
	copy    *Copy
	near    Near   // nil: no model compares meaning
	vectors func() // ends the making of vectors
	began   string
	project string
	state   *memorystate.State // nil: none is kept
	server  memorystate.Server
	plans   *plans.Plans // nil: none can be made
	beside  beside
	// attested waits, for a while, until the start of the session is attested.
	attested func()
}

// beside runs what nobody waits for, until the session ends.
type beside struct {
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	busy    chan struct{} // held while uses are published
}

// Serve begins to serve a session with its copy, which is followed from now on. It
// waits for no relay. Close it before the copy.
func (s *Session) Serve(ctx context.Context, l *Copy, o ServeOptions) *Live {
	v := &Live{Memory: s.Memory, s: s, o: o, log: s.o.Log, copy: l, vectors: func() {}, began: startName(time.Now()), attested: func() {}}
	if s.Models.Embed != nil {
		v.near, v.vectors = keepVectors(ctx, l.Copy, s.Models.Embed, s.Warn)
	}
	v.beside.busy = make(chan struct{}, 1)
	v.beside.ctx, v.beside.end = context.WithCancel(ctx)
	v.state = s.StateIfKept(ctx, s.Warn)
	s.live = v // which is read beside what follows the relays
	l.KeepCurrent(ctx, s.Discovery())
	if o.Box != nil && o.Accept {
		v.beside.running.Go(v.acceptOwners)
	}
	if v.state == nil {
		if o.Plans {
			v.log.Warn("no plans can be made: nothing is kept on this machine")
		}
		return v
	}
	v.enter(ctx)
	v.beside.running.Go(func() { s.Outbox.serve(v) })
	if o.Plans {
		v.plan(ctx)
	}
	if o.Attest {
		v.attest(ctx)
	}
	return v
}

// plan makes the planner, and finishes what this machine has begun.
func (v *Live) plan(ctx context.Context) {
	p, err := v.s.Plans(ctx, v.copy.Confirmed(), v.state)
	if err != nil {
		v.log.Warn("no plans can be made", "error", err)
		return
	}
	p.Near = novelty(v.near)
	v.plans = p
	v.beside.running.Go(func() {
		v.Settle(v.beside.ctx) // until then relays may not be found
		all, err := p.ResumeOpen(v.beside.ctx)
		for _, r := range all {
			v.log.Info("a plan that had begun was finished", "plan", r.ID, "status", r.Status, "changes", len(r.Changes), "left", len(r.Left))
		}
		if err != nil && v.beside.ctx.Err() == nil {
			v.log.Warn("a plan that has begun cannot be finished now", "error", err)
		}
	})
}

// Plans are the plans of the pair, nil where none can be made. What they write is
// stamped with a session that the caller sets.
func (v *Live) Plans() *plans.Plans { return v.plans }

// Close ends what runs beside, and the use of the state.
func (v *Live) Close() {
	v.attested()
	v.beside.end()
	v.beside.running.Wait()
	if v.state != nil {
		_ = v.state.Close() // each use is kept already
	}
	v.vectors()
}

func (v *Live) acceptOwners() {
	v.Settle(v.beside.ctx) // until then relays may not be found
	ctx, done := context.WithTimeout(v.beside.ctx, v.o.Patience)
	defer done()
	accepted, left, err := acceptOwners(ctx, v.s, v.o.Box, v.copy.Copy, v.state)
	if accepted+left > 0 {
		v.log.Info("proposals of the owner", "accepted", accepted, "left", left)
	}
	if err != nil && v.beside.ctx.Err() == nil {
		v.log.Warn("what the owner proposes is not known", "error", err)
	}
}

// enter finds the folder's project and the session of the harness.
func (v *Live) enter(ctx context.Context) {
	ids, _ := v.s.o.Ancestors()
	v.server = memorystate.Server{Session: Name(v.s.o.Harness), Ancestors: ids}
	at, err := StandingOf(ctx, v.state, v.s.o.Folder)
	if v.server.Folder = at.Folder; err == nil && (at.Linked || at.Remote != "") {
		v.project = project.Prefix + at.Name
	}
	if err := v.state.Sessions.Serve(ctx, v.server); err != nil {
		v.log.Warn("which session this is may not be known to hooks", "error", err)
	}
}

// served is the session of the harness, if it is known.
func (v *Live) served(ctx context.Context) (memorystate.Session, bool) {
	if v.state == nil {
		return memorystate.Session{}, false
	}
	s, ok, err := v.state.Sessions.Serves(ctx, v.server)
	if err != nil {
		v.log.Warn("which session this is is not known", "error", err)
	}
	return s, ok && s.ID != ""
}

// ID is the session of the harness, else a name for when this one began: it is
// stamped into what is written.
func (v *Live) ID(ctx context.Context) string {
	if one, ok := v.served(ctx); ok {
		return one.ID
	}
	return v.began
}

// Project is the slug of the memory of the folder's project; "" names none.
func (v *Live) Project() string { return v.project }

// Discovery is Session.Discovery.
func (v *Live) Discovery() func(context.Context) error { return v.s.Discovery() }

// Source is the local copy.
func (v *Live) Source() answer.Source { return v.copy.Source() }

// Settle waits for what makes the copy whole, as long as that can be expected soon.
func (v *Live) Settle(ctx context.Context) { v.copy.Settle(ctx) }

// Recaller is what a recall is done with, but for what it reads.
func (v *Live) Recaller() Recall {
	return Recall{Near: v.near, Matrix: v.s.Models.Matrix, Rerank: v.s.Models.Rerank, Copy: v.Source()}
}

// Recalled counts memories that were recalled and fit well.
func (v *Live) Recalled(ctx context.Context, hits []answer.Hit) {
	v.count(ctx, memorystate.Recalled, strong(hits))
}

// Used counts memories that were read.
func (v *Live) Used(ctx context.Context, slugs []string) { v.count(ctx, memorystate.Read, slugs) }

func (v *Live) count(ctx context.Context, use memorystate.Use, slugs []string) {
	if v.state == nil || len(slugs) == 0 {
		return
	}
	if err := v.state.Counters.Count(ctx, use, slugs...); err != nil {
		v.log.Warn("a use of memories is not counted", "error", err)
	}
}

// Uses returns how often memories were used on this machine; nil if that is not
// counted.
func (v *Live) Uses(ctx context.Context) (map[string]answer.Use, error) {
	if v.state == nil {
		return nil, nil
	}
	return usesIn(ctx, v.state)
}

// Similar returns memories that say nearly what a text at a slug says, the nearest
// first.
func (v *Live) Similar(slug, text string) (all []answer.Similar) {
	v.s.Copies.look(context.Background(), "what is similar", func(_ context.Context, view answer.View) { all = answer.SimilarTo(view, slug, text) })
	return all
}

// Copied finds the external memory that a text was taken from.
func (v *Live) Copied(text string) (string, bool) {
	return v.s.Copies.Copied(context.Background())(text)
}

// Where is where the session works, for intentions.
func (v *Live) Where(ctx context.Context) intentions.Place { return v.s.Place.At(ctx) }

// Scope says in which project the session asks.
func (v *Live) Scope(ctx context.Context) answer.Scope { return v.s.Place.Scope(ctx, false) }

// Fresh returns the first of some intentions that the session was not shown before,
// at most that many, and notes that it is now; known says that the session is.
func (v *Live) Fresh(ctx context.Context, items []intentions.Item, most int) (fresh []intentions.Item, known bool) {
	one, ok := v.served(ctx)
	if !ok {
		return nil, false
	}
	fresh, err := freshItems(ctx, v.state, one.ID, string(hook.Generic), items, most)
	if err != nil {
		v.log.Warn("which intentions the session was shown is not known", "error", err)
	}
	return fresh, err == nil
}

// Wake says for what the memory is looked through at the start of a session, but
// for time and place.
func (v *Live) Wake(ctx context.Context) briefing.Options { return wakeOptions(ctx, v.s, v.state, "") }

// Proposals are what others propose, nil for an owner.
func (v *Live) Proposals() Proposals {
	if v.o.Box == nil {
		return nil
	}
	return v.o.Box
}

// Snapshots returns what saves the whole memory in a file on this machine.
func (v *Live) Snapshots() func(ctx context.Context, label string) (Snapshot, error) {
	return v.o.Snapshot
}

// Why says what a session was told unasked: why.Of, "" being the session of the harness. It
// needs a state.
func (v *Live) Why(ctx context.Context, id string, prompt *int64) (why.Answer, error) {
	if own, ok := v.served(ctx); ok {
		id = cmp.Or(id, own.ID)
	}
	return why.Of(ctx, v.state.Turns, v.Source(), Name(id), prompt)
}

// Judge is Session.Judge by the state that is open, which there must be.
func (v *Live) Judge(ctx context.Context, useful bool, slugs []nipae.Slug) (budget int, err error) {
	return v.s.Judge(ctx, v.state, useful, slugs)
}

// Keeps reports whether uses and judgements are kept on this machine.
func (v *Live) Keeps() bool { return v.state != nil }

// Wrote counts a write that succeeded, with the slugs that it was about, and has
// other machines told how often memories were used, beside the answer.
func (v *Live) Wrote(ctx context.Context, slugs []string) {
	if v.state == nil {
		return
	}
	v.countWrite(ctx, slugs)
	select {
	case v.beside.busy <- struct{}{}:
	default:
		return // it is being done
	}
	v.beside.running.Go(func() {
		defer func() { <-v.beside.busy }()
		if err := publishUses(v.beside.ctx, v.s, v.state); err != nil && v.beside.ctx.Err() == nil {
			v.log.Warn("other machines are not told yet how often memories were used", "error", err)
		}
	})
}

// countWrite counts a write in the session of the harness.
func (v *Live) countWrite(ctx context.Context, slugs []string) {
	one, ok := v.served(ctx)
	if !ok {
		return
	}
	links := ""
	if one.Folder != "" && slices.ContainsFunc(slugs, func(slug string) bool { return project.Own(slug, one.Project) }) {
		links = linkedBy(ctx, v, one.Folder, slugs)
	}
	if err := v.state.Sessions.Wrote(ctx, one.ID, func(string) string { return links }); err != nil {
		v.log.Warn("a write is not counted", "error", err)
	}
}

// linkedBy returns the clone that a write of the agent links to its project: one
// whose project no other folder of this machine has, and that had no memory; "" for
// none.
func linkedBy(ctx context.Context, v *Live, folder string, slugs []string) string {
	at, err := StandingOf(ctx, v.state, folder)
	if err != nil || at.Linked || len(at.Others)+len(at.Shared) > 0 || !slices.ContainsFunc(slugs, func(slug string) bool { return project.Own(slug, at.Name) }) {
		return ""
	}
	v.Settle(ctx)
	if !at.unwritten(ctx, v.Source(), slugs) {
		return ""
	}
	return at.Clone
}
