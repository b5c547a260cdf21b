package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/apart"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// chain is what waits at one slug, of which each was made from the one before it.
type chain struct {
	o     *Outbox
	state *memorystate.State
	out   *Sent
	slug  nipae.Slug
	all   []Waiting
	// doubt says that the writes may have been stored, and another one after them: they
	// are not made on another text.
	doubt bool
	left  bool // it waits still
}

func chains(all []Waiting) (list []*chain) {
	at := map[string]*chain{}
	for _, w := range all {
		c := at[w.Slug]
		if c == nil || w.Base != client.Hash(c.all[len(c.all)-1].Text) {
			c = &chain{slug: nipae.Slug(w.Slug)}
			at[w.Slug], list = c, append(list, c)
		}
		c.all = append(c.all, w)
	}
	return list
}

func ids(all []Waiting) (ids []string) {
	for _, w := range all {
		ids = append(ids, w.ID)
	}
	return ids
}

// note keeps why a chain waits still. What a relay says is kept as it is told.
func (c *chain) note(ctx context.Context, as func(memorystate.Outbox, context.Context, string, ...string) error, reason error) error {
	c.left, c.out.Reason = true, cmp.Or(c.out.Reason, client.Printable(reason.Error()))
	return as(c.state.Outbox, context.WithoutCancel(ctx), client.Printable(reason.Error()), ids(c.all)...)
}

// sends is how often a chain is made on what is there.
const sends = 4

// send sends a chain.
func (c *chain) send(ctx context.Context) error {
	switch err := c.settle(ctx); {
	case errors.Is(err, errUnsettled):
		return c.note(ctx, memorystate.Outbox.Held, err)
	case err != nil || len(c.all) == 0:
		return err
	}
	for range sends {
		head, partial, err := c.head(ctx)
		if err != nil {
			return c.failed(ctx, err)
		}
		if partial && head.Hash == "" && c.base() != "" {
			return c.note(ctx, memorystate.Outbox.Held, client.ErrPartial)
		}
		if c.lapse(ctx, head); len(c.all) == 0 {
			return nil
		}
		text, rebased, err := c.on(ctx, head)
		if errors.Is(err, errGone) {
			return c.failed(ctx, err)
		}
		if err != nil {
			return c.apart(ctx, head)
		}
		if head.Hash != "" && text == head.Text {
			return c.stored(ctx, c.all)
		}
		published, err := c.write(ctx, c.slug, text, head, c.asked())
		var conflict *client.ConflictError
		switch {
		case err == nil:
			c.out.Written++
			if rebased {
				c.out.Rebased++
			}
			return c.stored(ctx, c.all)
		case errors.As(err, &conflict) && conflict.Busy:
			return c.note(ctx, memorystate.Outbox.Held, err)
		case errors.As(err, &conflict) && write.Doubtful(published):
			switch err := c.settle(ctx); {
			case errors.Is(err, errUnsettled):
				return c.note(ctx, memorystate.Outbox.Held, err)
			case err != nil || len(c.all) == 0:
				return err
			}
		case errors.As(err, &conflict):
			c.doubt = c.doubt || conflict.Sent
		case rebased && errors.Is(err, client.ErrTooLarge):
			return c.apart(ctx, head)
		default:
			return c.failed(ctx, err)
		}
	}
	return c.note(ctx, memorystate.Outbox.Held, fmt.Errorf("another text was there each of %d times", sends))
}

// errUnsettled means that it is not known whether a write that was sent is stored.
var errUnsettled = errors.New("it was sent, and not every relay says whether it has it")

// settle finds out what became of writes that were sent before, and takes out those
// that are stored, with what they were made from.
func (c *chain) settle(ctx context.Context) (err error) {
	stored, has := 0, map[string]memory.Found{}
	for i, w := range c.all {
		found, asked := has[w.Sent]
		if w.Sent != "" && !asked {
			found, err = c.o.s.Memory.Has(ctx, c.slug, w.Sent, w.At.Unix())
			if errors.Is(err, client.ErrPartial) {
				err = errUnsettled
			}
			if err != nil {
				return err
			}
			has[w.Sent] = found
		}
		if found.There {
			stored = i + 1
		}
	}
	done := c.all[:stored]
	c.all = c.all[stored:]
	c.doubt = c.doubt || slices.ContainsFunc(c.all, func(w Waiting) bool {
		return w.Moved || w.Sent != "" && (!has[w.Sent].Sure || c.o.expired(c.last())) // histories lose what has expired
	})
	if stored == 0 {
		return nil
	}
	c.out.Written++
	return c.stored(ctx, done)
}

func (c *chain) stored(ctx context.Context, done []Waiting) error {
	return c.state.Outbox.Remove(context.WithoutCancel(ctx), ids(done)...)
}

// failed keeps why a chain was not sent. What no relay answered ends the sending.
func (c *chain) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, client.ErrUnconnected) && !c.doubt: // nothing was sent
		return cmp.Or(c.note(ctx, memorystate.Outbox.Refused, err), err)
	case client.Silent(err):
		return err
	case errors.Is(err, client.ErrUnverified), errors.Is(err, client.ErrPartial), c.doubt:
		return c.note(ctx, memorystate.Outbox.Held, err)
	}
	return c.note(ctx, memorystate.Outbox.Refused, err)
}

// base is the hash of the text that the chain was made from, "" for none.
func (c *chain) base() string {
	if base := c.all[0].Base; base != memory.BaseNone {
		return base
	}
	return ""
}

// last is the newest write of a chain.
func (c *chain) last() Waiting { return c.all[len(c.all)-1] }

// over is what asked for a time that is over, and what was written onto it.
func (c *chain) over(now int64) []Waiting {
	if at := c.asked().At; at == 0 || at > now {
		return nil
	}
	return c.all[slices.IndexFunc(c.all, func(w Waiting) bool { return w.Asked.At > 0 }):]
}

// lapse drops what due left. What was sent with it, as one event, may have been stored, and
// gone since, unless what that was made from is there still.
func (c *chain) lapse(ctx context.Context, head client.Entry) {
	over := c.over(c.o.s.Client.Now())
	kept, still := len(c.all)-len(over), head.Hash != "" && head.Hash == c.base()
	for !still && len(over) > 0 && kept > 0 && over[0].Sent != "" && c.all[kept-1].Sent == over[0].Sent {
		kept--
	}
	c.o.drop(ctx, c.state, c.all[kept:])
	c.all = c.all[:kept]
}

// asked is the newest expiry that was asked for.
func (c *chain) asked() (e memory.Expiry) {
	for _, w := range c.all {
		if w.Asked.At > 0 {
			e = w.Asked
		}
	}
	return e
}

// fits reports whether the chain's text is one for what is there: that is what the first
// was made from, or one of the chain.
func (c *chain) fits(head client.Entry) bool {
	return head.Hash == c.base() || slices.ContainsFunc(c.all, func(w Waiting) bool { return client.Hash(w.Text) == head.Hash })
}

// head reads what is there; without a hash there is nothing.
func (c *chain) head(ctx context.Context) (head client.Entry, partial bool, err error) {
	head, status, err := c.o.s.Memory.Get(ctx, c.slug)
	switch {
	case status.Stale:
		return head, true, client.ErrNoRelay
	case errors.Is(err, client.ErrNoRelay):
		return head, true, err
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone), errors.Is(err, client.ErrPartial):
		return client.Entry{}, errors.Is(err, client.ErrPartial), nil
	}
	return head, status.Partial, err
}

// write writes a text where the head is, or nothing. published is what the relays said
// that it was sent to.
func (c *chain) write(ctx context.Context, slug nipae.Slug, text string, head client.Entry, expires memory.Expiry) (published []client.PublishStatus, err error) {
	m := c.o.s.Memory
	set := func(so memory.SetOptions) error {
		so.AllowEmpty, so.Expires = true, expires
		if slug == c.slug {
			so.Signed = func(id string) error {
				for i := range c.all {
					c.all[i].Sent = id
				}
				return c.state.Outbox.Signed(ctx, id, ids(c.all)...)
			}
		}
		_, status, err := m.kept(ctx)(m.Memory.Set(ctx, slug, text, so))
		published = append(published, status.Published...)
		return err
	}
	err = set(memory.SetOptions{Base: cmp.Or(head.Hash, memory.BaseNone)})
	if head.Hash == "" && errors.Is(err, client.ErrPartial) { // as who writes without a base
		err = set(memory.SetOptions{Check: func(old, _ string) error {
			if old != "" {
				return &client.ConflictError{}
			}
			return nil
		}})
	}
	return published, err
}

// errUnfit means that a write cannot be made on the text that is there.
var errUnfit = errors.New("it does not fit the text that is there")

// errGone means that a write was made on a text that has expired.
var errGone = errors.New("the text that it was made on has expired: outbox drop gives it up")

// on makes the chain's text on what is there. It is the last of the chain where that is
// what the first was made from; else each is made again.
func (c *chain) on(ctx context.Context, head client.Entry) (text string, rebased bool, err error) {
	switch {
	case c.anew(ctx, head):
		if err = errUnfit; c.o.expired(c.last()) {
			err = errGone
		}
		return "", false, err
	case c.fits(head):
		return c.last().Text, false, nil
	case c.doubt || head.Hash == "":
		return "", false, errUnfit
	}
	on, had := &draft{Entry: head}, head.Text
	for _, w := range c.all {
		had += "\n\n" + w.Text // which was checked, or allowed, when it was kept
		f := frontmatter.Parse(w.Text).Fields()
		by := write.Writer{Memory: on, Source: f.Source, Session: f.Session, Project: f.Project, Clock: func() time.Time { return w.At }}
		if f.Trust == frontmatter.External {
			by.Copied = func(string) (string, bool) { return w.Slug, true }
		}
		switch {
		case w.Append != "":
			_, err = by.Append(ctx, c.slug, w.Append, memory.SetOptions{})
		case w.Old != "":
			_, err = by.Edit(ctx, c.slug, w.Old, w.New, memory.SetOptions{})
		default:
			err = errUnfit
		}
		if err != nil {
			return "", false, err
		}
	}
	// What is a secret only by what stands there now.
	return on.Text, true, secrets.CheckChange(had+"\n\n", on.Text)
}

// anew reports whether the memory that the chain was made on has expired, as far as is
// known here, and what is there began after it. It was put off if a version says so that
// was written in time.
func (c *chain) anew(ctx context.Context, head client.Entry) bool {
	i := slices.IndexFunc(c.all, func(w Waiting) bool { return w.Asked.At == 0 && c.o.expired(w) })
	switch {
	case i < 0:
		return false
	case head.Expires == 0:
		return true
	case head.CreatedAt < c.all[i].Expires:
		return false
	}
	versions, _, _ := c.o.s.Memory.Log(ctx, c.slug) // without an answer none says so
	return !slices.ContainsFunc(versions, func(v memory.Version) bool {
		return v.CreatedAt < c.all[i].Expires && v.Expires > c.all[i].Expires
	})
}

// draft is a memory of one text, on which writes are made again.
type draft struct {
	write.Memory // which they do without
	client.Entry
}

func (d *draft) Get(context.Context, nipae.Slug) (client.Entry, client.Status, error) {
	return d.Entry, client.Status{}, nil
}

func (d *draft) Set(_ context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	if err := o.Check(d.Text, text); err != nil {
		return d.Entry, client.Status{}, err
	}
	d.Entry = client.Entry{Slug: slug, Text: text, Size: len(text), Hash: client.Hash(text)}
	return d.Entry, client.Status{}, nil
}

// apart keeps the chain's text as a memory of its own, beside the one that it met. It
// expires when the text was to, or, if that was put off, what is there.
func (c *chain) apart(ctx context.Context, head client.Entry) error {
	last := c.last()
	expires := memory.Expiry{At: last.Expires}
	if c.o.expired(last) {
		expires.At = head.Expires
	}
	slug := apart.Slug(last.ID)
	text, err := apart.Unit{Of: string(c.slug), Written: last.At, Text: last.Text}.Render()
	if err == nil {
		_, err = c.write(ctx, slug, text, client.Entry{}, expires)
	}
	if errors.Is(err, client.ErrConflict) {
		if there, _, failed := c.o.s.Memory.Get(ctx, slug); failed == nil && frontmatter.Parse(there.Text).Body() == last.Text {
			err = nil // before this process was killed
		}
	}
	if err != nil {
		return c.failed(ctx, fmt.Errorf("it met a newer text, and could not be kept beside it: %w", err))
	}
	c.out.Apart++
	return c.stored(ctx, c.all)
}
