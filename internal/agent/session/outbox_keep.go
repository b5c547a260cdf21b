package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/apart"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// ErrNoOutbox means that nothing waits on this machine, since nothing is kept here.
var ErrNoOutbox = errors.New("nothing can wait on this machine: no state is kept")

// restTime bounds what a command sends beside what it was told to write.
const restTime = 3 * time.Second

// Rest sends what waits once a command has written: a relay has answered.
func (o *Outbox) Rest(ctx context.Context) {
	state := o.state(ctx)
	if state == nil || o.queued.Load() {
		return
	}
	if mark, err := state.Outbox.Mark(ctx); err != nil || mark.Count == 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, restTime)
	defer done()
	sent, err := o.Send(ctx, "")
	if said := sent.String(); said != "" {
		o.s.note("of what waited on this machine, %s", said)
	}
	if err != nil {
		o.s.detail("what waits on this machine is not sent yet: %v", err)
	}
}

const (
	// outboxEvery is how often a server looks whether something waits, and whether a
	// relay has answered since it was tried.
	outboxEvery = 5 * time.Second
	// outboxAgain is when what was refused is tried again.
	outboxAgain = 10 * time.Minute
)

// serve sends what waits: once relays are known, and each time that one has answered
// since the last try.
func (o *Outbox) serve(v *Live) {
	ctx := v.beside.ctx
	v.Settle(ctx)
	for _, a := range o.Aside(ctx) {
		o.s.warn("%s", a)
	}
	var tried time.Time
	var left memorystate.Mark // what a try left that relays answered
	for ctx.Err() == nil {
		mark, err := v.state.Outbox.Mark(ctx)
		fresh, unknown := v.copy.Follower.Freshness(ctx)
		if err == nil && unknown == nil && mark.Count > 0 && fresh.Latest.After(tried) && (mark != left || time.Since(tried) > outboxAgain) {
			trying, done := context.WithTimeout(ctx, v.o.Patience)
			tried = time.Now()
			sent, err := o.Send(trying, "")
			done()
			if left = (memorystate.Mark{}); err == nil && sent.Left > 0 {
				left, _ = v.state.Outbox.Mark(ctx)
			}
			if err == nil {
				v.log.Info("what waited on this machine", "sent", sent.Written, "apart", sent.Apart, "left", sent.Left)
			}
		}
		select {
		case <-time.After(outboxEvery):
		case <-ctx.Done():
		}
	}
}

// Drop gives up a write that waits, or a text that is apart, by its id. The error is
// client.ErrNotFound for neither.
func (o *Outbox) Drop(ctx context.Context, id string) error {
	state := o.state(ctx)
	if state == nil {
		return ErrNoOutbox
	}
	all, err := state.Outbox.All(ctx, "")
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.ID == id {
			return state.Outbox.Remove(ctx, id)
		}
	}
	slug, err := nipae.ParseSlug(string(apart.Slug(id)))
	if err != nil {
		return client.ErrNotFound
	}
	_, _, err = o.s.Memory.Remove(ctx, slug, false)
	return err
}

// Apart returns the texts that met a newer one, as the local copy has them.
func (o *Outbox) Apart(ctx context.Context) (all []apart.Unit) {
	o.s.Copies.look(ctx, "what met a newer text", func(_ context.Context, v answer.View) { all = apart.In(v, "") })
	return all
}

// Aside is a state that was set aside with writes that wait.
type Aside struct {
	File    string
	Waiting int
}

// String says what to do about it.
func (a Aside) String() string {
	if a.Waiting == 1 {
		return "a write waits in a state that was set aside: engramctl outbox import " + a.File + " takes it over"
	}
	return fmt.Sprintf("%d writes wait in a state that was set aside: engramctl outbox import %s takes them over", a.Waiting, a.File)
}

// Aside finds the states that were set aside with writes that wait. What cannot be read
// is left out.
func (o *Outbox) Aside(ctx context.Context) (all []Aside) {
	if o.s.Memory == nil || !o.s.Keeps() {
		return nil
	}
	names, _ := memorystate.Aside(pairOf(o.s.Memory.Memory), o.s.o.State)
	for _, name := range names {
		if queued, err := memorystate.QueuedIn(ctx, pairOf(o.s.Memory.Memory), name, o.s.o.State); err == nil && len(queued) > 0 {
			all = append(all, Aside{name, len(queued)})
		}
	}
	return all
}

// Import takes over the writes that wait in a state that was set aside, and returns how
// many there are; those that are here already are left. Whoever has that state may have
// sent them: they are not made on another text.
func (o *Outbox) Import(ctx context.Context, file string) (n int, err error) {
	state := o.state(ctx)
	if state == nil {
		return 0, ErrNoOutbox
	}
	waiting, err := decoded(memorystate.QueuedIn(ctx, pairOf(o.s.Memory.Memory), file, o.s.o.State))
	if err != nil {
		return 0, err
	}
	for _, w := range waiting {
		last, _ := o.last(ctx, nipae.Slug(w.Slug))
		w.Moved = true
		if w.Data, err = json.Marshal(w.content); err == nil {
			_, err = state.Outbox.Put(ctx, w.Queued, last.N)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, memorystate.Taken(file)
}
