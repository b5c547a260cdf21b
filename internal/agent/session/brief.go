package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/memory/project"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	// WakeBudget is how long relays are asked at the start of a session.
	WakeBudget = 2 * time.Second
	// offersBudget is how long relays are asked what others propose, once they have
	// answered.
	offersBudget = 500 * time.Millisecond
	// lookAfter is when the local copy is looked through while relays are still
	// asked: where none answers, there would be no time for it.
	lookAfter = 300 * time.Millisecond
	// lookSpare is how long beyond WakeBudget the local copy is looked through: what
	// was found until then is told.
	lookSpare = 200 * time.Millisecond
)

// Beginning is how a session begins.
type Beginning struct {
	Harness hook.Harness
	In      hook.Input
	// MayBegin returns nil if the pair, which has no core, may begin its memory.
	MayBegin func(ctx context.Context) error
	// Unreached reports whether an error says of the relays that they could not be
	// asked, and nothing of the memory.
	Unreached func(error) bool
	// Box opens the box of proposals, and Ways says how the agent answers what waits.
	Box  func() (*proposals.Box, error)
	Ways func() hook.Ways
	// Hint stands where the core would, and Partial follows one that may not be the
	// newest.
	Hint, Partial string
}

// Brief is what the start of a session is told from.
type Brief struct {
	Parts   briefing.Parts
	Core    Core
	Project Standing
	State   *memorystate.State // nil: none is kept
	Seen    bool               // something was ever remembered, as far as this machine knows

	s      *Session
	b      Beginning
	kept   *Copy // nil: none can be had
	unsure bool  // whether the folder is linked could not be found out
	look   briefing.Options
	taken  []memorystate.TakenOver // from the owner unasked, and not told yet
}

// Core is the core as it was found: its text as of a time, if it was.
type Core struct {
	Entry *client.Entry // nil: every relay says that there is none
	// Kept says that it is the local copy's, as of a time.
	Kept bool
	AsOf time.Time
	// Partial says that some relay did not answer, Unsent that it waits on this machine, and
	// Waits that another one does, and met this.
	Partial, Unsent, Waits bool
	// Behind says that relays show an older one or none, and Named that a person named
	// the relays for this one question, so that they are not all that there are.
	Behind, Named bool
	// Unaccounted says that no relay shows one, and that it cannot be told whether
	// there is one; nil: it can.
	Unaccounted error
}

func (c Core) section(b Beginning) hook.Section {
	switch {
	case c.Unaccounted != nil:
		return hook.NoCore(c.Unaccounted.Error())
	case c.Entry == nil && c.Named:
		return hook.NoCore(hook.NotShown)
	case c.Entry == nil:
		return hook.NoCore(b.Hint)
	case c.Unsent:
		return hook.Core(c.Entry.Text, hook.Unsent)
	case c.Kept:
		return hook.Unconfirmed(c.Entry.Text, c.AsOf)
	case c.Waits:
		return hook.Core(c.Entry.Text, hook.Waits)
	case c.Behind:
		return hook.Core(c.Entry.Text, hook.Behind)
	case c.Partial:
		return hook.Core(c.Entry.Text, b.Partial)
	}
	return hook.Core(c.Entry.Text, "")
}

// Brief finds what a session begins with: the core from the relays, which are asked
// for WakeBudget, or from the local copy where none answers; and the rest from that
// copy. Close the Brief, also one that comes with an error.
func (s *Session) Brief(ctx context.Context, b Beginning) (w *Brief, err error) {
	w = &Brief{s: s, b: b}
	w.Project, _ = StandingOf(ctx, nil, b.In.Folder) // none: nothing is told of one
	began := time.Now()
	local, stop := context.WithTimeout(ctx, s.allow(WakeBudget))
	defer stop()
	w.aside(local, w.begin)
	w.aside(local, w.know)
	w.aside(local, func(ctx context.Context) { w.kept, _ = s.Copies.Open(ctx, s.o.Note) })
	w.aside(local, w.options)
	looking, enough := context.WithDeadline(ctx, began.Add(s.allow(WakeBudget+lookSpare)))
	defer enough()
	found, err := w.find(ctx, local, looking)
	w.Seen = found.any || w.look.From.N > 0
	if id := Name(b.In.Session); w.State != nil && id != "" && (w.Core.Kept || err != nil && b.Unreached(err)) {
		w.aside(ctx, func(ctx context.Context) { _ = w.State.Sessions.Muted(ctx, id) }) // then it is not told
	}
	if err != nil {
		return w, err
	}
	if w.Core.Entry != nil && found.start.Words[string(nipae.Core)].Base != client.Hash(w.Core.Entry.Text) {
		delete(found.start.Words, string(nipae.Core)) // relays have another one by now
	}
	p := briefing.Parts{Measure: hook.MeasureOf(b.Harness), Core: w.Core.section(b), Project: found.project, Start: found.start, Unread: !found.read}
	if p.Unread {
		p.Start.From = w.look.From
		p.Start.From.Unread = true
	} else {
		p.Start.Counts.Offers = w.offers(ctx)
	}
	if p.Start.Waits() {
		p.Ways = b.Ways()
	}
	if text := p.Start.Narrative; text != "" {
		p.Who.Hash = client.Hash(text)
	}
	p.Took = w.took(ctx)
	w.Parts = p
	return w, nil
}

// Close ends the use of the copy and of the state.
func (w *Brief) Close() {
	if w.kept != nil {
		_ = w.kept.Close() // what was kept is kept
	}
	if w.State != nil {
		_ = w.State.Close()
	}
}

// aside does what the core does not depend on.
func (w *Brief) aside(ctx context.Context, do func(context.Context)) {
	ctx, done := context.WithTimeout(ctx, w.s.allow(besideBudget))
	defer done()
	do(ctx)
}

// begin notes the session in the state.
func (w *Brief) begin(ctx context.Context) {
	if w.State = w.s.StateIfKept(ctx, w.s.o.Note); w.State == nil {
		return
	}
	var err error
	if id := Name(w.b.In.Session); id != "" {
		_, process := w.s.o.Ancestors()
		err = w.State.Sessions.Begin(ctx, w.Project.Of(memorystate.Session{ID: id, Harness: string(w.b.Harness), Process: process}),
			w.b.Harness.Alone(), w.b.In.Source == hook.Clear)
		if err == nil && (w.b.In.Source == hook.Compact || w.b.In.Source == hook.Clear) {
			err = w.State.Sessions.Forget(ctx, id)
		}
	}
	if err != nil {
		w.s.note("what this machine knows of the session is not kept: %v", err)
	}
}

// know learns whether the folder is known. It waits for no writer, unlike begin.
func (w *Brief) know(ctx context.Context) {
	if w.Project.Name == "" {
		return
	}
	if w.unsure = w.State == nil; w.unsure {
		return
	}
	known, err := StandingOf(ctx, w.State, w.b.In.Folder)
	if err != nil {
		w.unsure = true
		w.s.note("whether the folder is the project's is not known: %v", err)
		return
	}
	if w.Project = known; known.Linked && known.Before {
		// Another folder may have the old name later, which does not change this one.
		// What is not kept now is found out again.
		_ = w.State.Folders.Link(ctx, known.Clone, known.Name, known.Old)
	}
}

// options are what the copy is looked through for.
func (w *Brief) options(ctx context.Context) {
	w.look = wakeOptions(ctx, w.s, w.State, Name(w.b.In.Session))
	at := w.Project.Place()
	w.look.Now, w.look.Project, w.look.Old, w.look.Linked, w.look.Last = time.Now(), at.Project, at.Old, at.Linked, w.Project.Last
}

// offers counts what others propose to the agent; what is not known soon is not
// said.
func (w *Brief) offers(ctx context.Context) hook.Offers {
	if !w.s.Memory.Writable() || w.Core.Kept { // no relay answered
		return hook.Offers{}
	}
	ctx, done := context.WithTimeout(ctx, w.s.allow(offersBudget))
	defer done()
	box, err := w.b.Box()
	if err != nil {
		w.s.note("what is proposed is not known: %v", err)
		return hook.Offers{}
	}
	in, _, err := box.List(ctx)
	if err != nil {
		return hook.Offers{}
	}
	return hook.OffersOf(in)
}

// Showed notes what is in the session's context, and what was withheld from it. note is
// that of the turn.
func (w *Brief) Showed(ctx context.Context, told briefing.Told, note string) {
	id := Name(w.b.In.Session)
	if w.State == nil || id == "" {
		return
	}
	w.aside(ctx, func(ctx context.Context) {
		turn := memorystate.Turn{Session: memorystate.Session{ID: id, Harness: string(w.b.Harness)}, Note: note}
		if core := w.Core.Entry; core != nil {
			turn.Texts = append(turn.Texts, memorystate.Told{Slug: string(nipae.Core), Event: core.ID, Reason: "core"})
			turn.Shown = shownOf([]hook.Unit{{Slug: string(nipae.Core), Text: core.Text, Says: w.Parts.Start.Words[string(nipae.Core)]}})
		}
		turn.Shown = append(turn.Shown, shownOf(told.Whole)...)
		for _, i := range told.Due {
			turn.Shown = append(append(turn.Shown, memorystate.Shown{Slug: i.Slug, Hash: i.Key}), saidOf(i.Slug, i.Says)...)
		}
		if w.kept != nil {
			_ = w.kept.Source().Read(ctx, func(v answer.View) error { // what is not known is not noted
				turn.Texts = append(turn.Texts, w.told(v, told)...)
				return nil
			})
		}
		if err := errors.Join(w.State.Turns.Start(ctx, turn), w.State.Owners.Keep(ctx, w.taken...)); err != nil {
			w.s.note("what was shown is not kept: %v", err)
		}
	})
}

// told names the texts beside the core that were told, and those of the project that were
// withheld.
func (w *Brief) told(v answer.View, told briefing.Told) (all []memorystate.Told) {
	p := w.Parts.Project
	for _, u := range told.Whole {
		why := "replay"
		switch {
		case u.Slug == hook.NarrativeSlug:
			why = "narrative"
		case project.Own(u.Slug, p.Project, p.Old):
			why = "project"
		}
		all = append(all, toldOf(v, u.Slug, why))
	}
	for _, i := range told.Due {
		all = append(all, toldOf(v, i.Slug, "intention"))
	}
	for _, head := range briefing.Heads(v, p.Project, p.Old) {
		text, _ := v.Text(head.Slug)
		why := ""
		switch {
		case v.Index().Truth().Stale(head.Slug):
			why = "stale"
		case answer.WordsOf(v)[head.Slug].Withholds():
			why = "owner"
		case frontmatter.Parse(text).Trust() == frontmatter.External:
			why = "external"
		case !p.Linked:
			why = "folder is not linked"
		default:
			continue
		}
		all = append(all, memorystate.Told{Slug: head.Slug, Event: head.ID, Reason: why, Withheld: true})
	}
	return all
}

// Attest attests the start of the session, once its agent was told.
func (w *Brief) Attest(from hook.Continuing) {
	ctx, cancel := context.WithTimeout(context.Background(), w.s.allow(Tidy))
	defer cancel()
	_, process := w.s.o.Ancestors()
	if _, err := w.AttestAs(ctx, from, Attestor{Name(w.b.In.Session), process}); err != nil {
		w.s.note("where the session continues from is not attested: %v", err)
	}
}

// AttestAs is Session.Attest, and refuses also where only the core is known to be behind.
func (w *Brief) AttestAs(ctx context.Context, from hook.Continuing, by Attestor) (slug string, err error) {
	if w.Core.Behind {
		return "", client.ErrBehind
	}
	return w.s.Attest(ctx, w.State, from, by)
}

// ask asks the relays for the core and what is new.
func (w *Brief) ask(ctx context.Context) error {
	asking, done := context.WithTimeout(ctx, w.s.allow(WakeBudget-WakeBudget/10))
	defer done()
	if err := w.s.Discover(asking); err != nil {
		w.s.note("%v", err)
	}
	var both sync.WaitGroup
	defer both.Wait()
	if w.kept != nil {
		w.kept.Found()
		both.Go(func() {
			defer recovered()
			w.kept.Asked(asking)
		})
	}
	return w.getCore(asking)
}

// getCore reads the core as the relays have it.
func (w *Brief) getCore(ctx context.Context) error {
	entry, status, err := w.s.Memory.Read(ctx, nipae.Core)
	if status.Stale && err == nil {
		w.Core = Core{Entry: &entry, Kept: true, Partial: true, Unsent: status.Queued, AsOf: w.s.Memory.AsOf(ctx, entry)}
		err = client.NoRelay(status.Relays)
	}
	absent := errors.Is(err, client.ErrNotFound)
	if absent {
		if err = nil; status.Behind == 0 {
			err = w.b.MayBegin(ctx)
		}
	}
	unaccounted, is := errors.AsType[*UnaccountedError](err)
	if is {
		err = nil
	}
	if err := w.s.o.Report(status, err); err != nil {
		return err
	}
	w.Core = Core{Partial: status.Partial, Unsent: status.Queued, Waits: status.Waits, Behind: status.Behind > 0, Named: status.Named}
	switch {
	case is:
		w.Core.Unaccounted = unaccounted
	case !absent:
		w.Core.Entry = &entry
	}
	return nil
}

// recovered ends a panic of a goroutine, for which others would wait in vain.
func recovered() { _ = recover() }
