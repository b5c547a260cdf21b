package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/apart"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Outbox is what the agent wrote while no relay answered. It is kept in the state,
// unsigned: what is sent is signed then. Only an agent that keeps a state has one.
type Outbox struct {
	s *Session

	mu     sync.Mutex
	opened *memorystate.State // for a session that does not serve; nil: not yet, or none
	failed bool               // it cannot be opened
	queued atomic.Bool        // a write of this session waits
	mark   memorystate.Mark   // of all
	all    []Waiting
}

// Kept says of a write that it waits.
const Kept = "kept on this machine; it is sent when a relay answers"

// Waiting is a write that waits.
type Waiting struct {
	memorystate.Queued
	content
}

// content is what the state keeps of one, as JSON.
type content struct {
	Text string `json:"text"` // as it was composed, fields and all
	// Base is the hash of the text that it was made from, memory.BaseNone for none; ""
	// is not known.
	Base string `json:"base,omitempty"`
	// How it was made of that, if it can be made of another: memory.Later.
	Append string `json:"append,omitempty"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	// Expires is when it expires, in Unix seconds, and Asked that this is another time than
	// that of the text before.
	Expires int64         `json:"expires,omitempty"`
	Asked   memory.Expiry `json:"asked,omitzero"`
	// Moved says that it was taken over from another file: whoever has that may have
	// sent it.
	Moved bool `json:"moved,omitempty"`
}

// How says in a word how it was made.
func (w Waiting) How() string {
	switch {
	case w.Append != "":
		return "append"
	case w.Old != "":
		return "edit"
	}
	return "set"
}

// Entry is the text as it will be.
func (w Waiting) Entry() client.Entry {
	return client.Entry{Slug: nipae.Slug(w.Slug), Text: w.Text, Size: len(w.Text), Hash: client.Hash(w.Text), CreatedAt: w.At.Unix(), Expires: w.Expires}
}

// state is where the outbox is kept, nil for none: where relays are named, it is about
// those. It stays open as long as the session.
func (o *Outbox) state(ctx context.Context) *memorystate.State {
	live := o.s.live
	switch {
	case o.s.o.Client.Named || o.s.Memory == nil:
		return nil
	case live != nil:
		return live.state
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened == nil && !o.failed {
		soon, done := context.WithTimeout(context.WithoutCancel(ctx), client.Left(ctx, openShare)) // it outlasts ctx
		o.opened = o.s.StateIfKept(soon, o.s.Warn)
		done()
		o.failed = o.opened == nil
	}
	return o.opened
}

func (o *Outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened != nil {
		_ = o.opened.Close() // each write of it is kept already
	}
	o.opened, o.failed = nil, true
}

// takes reports whether a write may wait: not where every relay is waited for, nor for
// who gave up.
func (o *Outbox) takes(ctx context.Context) bool {
	return !o.s.o.All && !errors.Is(ctx.Err(), context.Canceled) && o.s.Memory.Writable() && !o.s.Memory.Reversed() && o.state(ctx) != nil
}

// All returns what waits, in its order.
func (o *Outbox) All(ctx context.Context) ([]Waiting, error) {
	state := o.state(ctx)
	if state == nil {
		return nil, nil
	}
	all, err := decoded(state.Outbox.All(ctx, ""))
	return o.due(ctx, state, all), err
}

// due returns what is to be sent. What asked for a time that is over is dropped, with what
// was written onto it; chain.lapse does so where it may have been sent. A time that came
// from the memory was perhaps put off elsewhere: that goes by what Send finds.
func (o *Outbox) due(ctx context.Context, state *memorystate.State, all []Waiting) []Waiting {
	if !slices.ContainsFunc(all, o.lapsed) {
		return all
	}
	var over []string
	for _, c := range chains(all) {
		late := c.over(o.s.Client.Now())
		if !slices.ContainsFunc(late, func(w Waiting) bool { return w.Sent != "" }) {
			over = append(over, o.drop(ctx, state, late)...)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(w Waiting) bool { return slices.Contains(over, w.ID) })
}

// lapsed reports whether a write asked for a time that is over.
func (o *Outbox) lapsed(w Waiting) bool {
	return w.Asked.At > 0 && w.Asked.At <= o.s.Client.Now()
}

// drop drops what has expired, tells so, and returns the ids.
func (o *Outbox) drop(ctx context.Context, state *memorystate.State, over []Waiting) []string {
	for _, w := range over {
		o.s.warn("a write to %s that waited on this machine has expired, and is dropped", w.Slug)
	}
	if len(over) > 0 {
		_ = state.Outbox.Remove(context.WithoutCancel(ctx), ids(over)...) // the next one tries again
	}
	return ids(over)
}

// expired reports whether the time of a text that waits is over, as far as is known here.
// Then no reader finds it.
func (o *Outbox) expired(w Waiting) bool { return w.Expires > 0 && w.Expires <= o.s.Client.Now() }

// read is All for who reads often and can do without, but for Sent and Reason, which may
// be old where nothing is to be dropped.
func (o *Outbox) read(ctx context.Context, state *memorystate.State) []Waiting {
	if state == nil {
		return nil
	}
	mark, err := state.Outbox.Mark(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && (mark != o.mark || slices.ContainsFunc(o.all, o.lapsed)) {
		var all []Waiting
		if all, err = decoded(state.Outbox.All(ctx, "")); err == nil {
			o.mark, o.all = mark, all
		}
	}
	if err != nil {
		o.s.warn("what waits on this machine is not known: %v", err)
		return nil
	}
	return o.due(ctx, state, o.all)
}

func decoded(queued []memorystate.Queued, err error) (all []Waiting, _ error) {
	for _, q := range queued {
		w := Waiting{Queued: q}
		if err := json.Unmarshal(q.Data, &w.content); err != nil {
			return nil, fmt.Errorf("a write that waits is damaged: %w", err)
		}
		w.Data = nil
		all = append(all, w)
	}
	return all, err
}

// last is the newest write that waits at a slug. It stands for what is there unless it has
// expired: then it has its place only, and what is written begins anew.
func (o *Outbox) last(ctx context.Context, slug nipae.Slug) (w Waiting, stands bool) {
	for _, one := range o.read(ctx, o.state(ctx)) {
		if one.Slug == string(slug) {
			w, stands = one, !o.expired(one)
		}
	}
	return w, stands
}

// held are the texts that wait, one for each slug.
func (o *Outbox) held(ctx context.Context, state *memorystate.State) (all []answer.Unsent) {
	last := map[string]answer.Unsent{}
	for _, c := range chains(o.read(ctx, state)) {
		w := c.all[len(c.all)-1]
		if o.expired(w) {
			delete(last, w.Slug)
			continue
		}
		last[w.Slug] = answer.Unsent{Held: answer.Held{Head: answer.Head{Slug: w.Slug, Size: len(w.Text), UpdatedAt: w.At.Unix()}, Text: w.Text},
			Fits: func(text string) bool { return c.fits(client.Entry{Hash: client.Hash(text)}) }}
	}
	return slices.Collect(maps.Values(last))
}

// over lays what waits over what relays have.
func (o *Outbox) over(confirmed answer.Source, state func(context.Context) *memorystate.State) answer.Source {
	return answer.Over(confirmed, func(ctx context.Context) []answer.Unsent { return o.held(ctx, state(ctx)) })
}

// putTime is how long this machine may take to keep a write.
const putTime = 5 * time.Second

// attempt is what came of a write that no relay answered.
type attempt struct {
	read *string // the text that was there, "" for none; nil: that was not answered either
	sent string  // the id of an event that may be stored; "" for none
}

// put keeps a write for when a relay answers. Errors are
// *client.ConflictError, client.ErrTooLarge, those of SetOptions.Check, and
// client.ErrNoRelay with why it cannot be kept, as state.ErrOutboxFull.
func (o *Outbox) put(ctx context.Context, slug nipae.Slug, text string, so memory.SetOptions, status client.Status, tried attempt) (client.Entry, client.Status, error) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), o.s.allow(putTime))
	defer done()
	for {
		w, err := o.made(ctx, slug, text, so, tried.read)
		if err != nil {
			return client.Entry{}, status, err
		}
		after := w.N
		w.N, w.Sent, w.At = 0, tried.sent, time.Now()
		if w.Data, err = json.Marshal(w.content); err != nil {
			return client.Entry{}, status, err
		}
		_, err = o.state(ctx).Outbox.Put(ctx, w.Queued, after)
		if errors.Is(err, memorystate.ErrOvertaken) {
			continue
		}
		if err != nil {
			return client.Entry{}, status, fmt.Errorf("%w, and it cannot be kept on this machine: %w", client.ErrNoRelay, err)
		}
		status.Queued = true
		o.queued.Store(true)
		return w.Entry(), status, nil
	}
}

// made composes what is kept. Its place is that of the write before it at the slug.
func (o *Outbox) made(ctx context.Context, slug nipae.Slug, text string, so memory.SetOptions, read *string) (w Waiting, err error) {
	old, w := o.before(ctx, slug)
	w.Slug, w.Text, w.Expires, w.Asked = string(slug), text, cmp.Or(so.Expires.At, old.Expires), so.Expires
	if err := room(w); err != nil {
		return w, err
	}
	if l := so.Later; l != nil {
		w.Append, w.Old, w.New = l.Append, l.Old, l.New
	}
	switch {
	case read != nil && *read == "":
		w.Base = memory.BaseNone
		return w, nil // it was checked
	case read != nil:
		w.Base = client.Hash(*read)
		return w, nil
	case so.Base != "" && w.Base != "" && so.Base != w.Base:
		conflict := &client.ConflictError{Reason: "the text is not the one that the change was made for"}
		if old.Hash != "" {
			conflict.Theirs = &old
		}
		return w, conflict
	}
	w.Base = cmp.Or(w.Base, so.Base)
	if so.Check != nil {
		err = so.Check(old.Text, text)
	}
	return w, err
}

// room refuses a text (client.ErrTooLarge) that could not be kept apart, should it meet a
// newer one when it is sent.
func room(w Waiting) error {
	const id = "000000000000"
	text, err := apart.Unit{Of: w.Slug, Written: time.Now(), Text: w.Text}.Render()
	if err == nil && w.Expires > 0 {
		text, err = frontmatter.Dated(frontmatter.Parse(text), frontmatter.At(time.Unix(w.Expires, 0)))
	}
	if err == nil {
		var body nipae.Body
		if body, err = nipae.NewMemory(apart.Slug(id), text); err == nil {
			_, err = body.Bytes()
		}
	}
	if errors.Is(err, nipae.ErrTooLarge) {
		err = fmt.Errorf("%w to wait for a relay: %w", client.ErrTooLarge, err)
	}
	return err
}

// before is what a write at a slug is made from: what waits there, or what this machine
// knows. w has its hash and its place.
func (o *Outbox) before(ctx context.Context, slug nipae.Slug) (old client.Entry, w Waiting) {
	last, stands := o.last(ctx, slug)
	switch w.N = last.N; {
	case stands:
		old = last.Entry()
		w.Base = old.Hash
		return old, w
	case w.N > 0:
		w.Base = memory.BaseNone
	}
	m := o.s.Memory
	at, err := o.s.known.At(ctx, nipae.AddressIn(m.Conversation(), m.Agent(), m.Owner(), slug))
	switch {
	case err == nil && at.Tombstone:
		w.Base = memory.BaseNone
	case err == nil && at.Event != nil:
		if e, err := nipae.Open(m.Conversation(), m.Agent(), m.Owner(), at.Event); err == nil {
			old = client.EntryOf(e)
			w.Base = old.Hash
		}
	}
	return old, w
}
