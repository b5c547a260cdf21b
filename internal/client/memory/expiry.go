package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/platform/timeparse"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Expiry says when a memory expires (NIP-40). The zero Expiry leaves that as it is: a
// version expires when the one before it does.
type Expiry struct {
	At int64 // Unix seconds
	// With begins the id of the newest version that is there, which expires too, with all
	// before it; "" where nothing is.
	With string
}

// maxExpiry is how far ahead a memory may expire.
const maxExpiry = 10 * 365 * 24 * time.Hour

// ParseExpiry reads a time to come as package timeparse does, and behind " with " the
// Expiry's With. "" is the zero Expiry; the error is client.ErrExpiry.
func ParseExpiry(text string, now time.Time) (e Expiry, err error) {
	if text == "" {
		return e, nil
	}
	when, with, named := strings.Cut(text, " with ")
	at, err := timeparse.Parse(when, timeparse.Until, now)
	switch e = (Expiry{at.Unix(), strings.TrimSpace(with)}); {
	case err != nil:
		err = fmt.Errorf("%w: %w", client.ErrExpiry, err)
	case e.At <= now.Unix() || at.Sub(now) > maxExpiry:
		err = fmt.Errorf("%w: %s is not to come, within ten years", client.ErrExpiry, at.UTC().Format(time.RFC3339))
	case named && len(e.With) < minPrefix:
		err = fmt.Errorf("%w: behind \"with\" comes an id, or %d and more of its first digits", client.ErrExpiry, minPrefix)
	}
	return e, err
}

// ParseFirst reads what ParseExpiry does, but no With: of who may not let go of what is
// there.
func ParseFirst(text string, now time.Time) (Expiry, error) {
	e, err := ParseExpiry(text, now)
	if err == nil && e.With != "" {
		return Expiry{}, fmt.Errorf("%w: here \"with\" lets nothing go", client.ErrExpiry)
	}
	return e, err
}

// TakesError is client.ErrExpiry: what is there would expire too.
type TakesError struct {
	Newest string // names the newest version, as a With does
	all    string
}

func (e *TakesError) Error() string {
	return client.ErrExpiry.Error() + ": what is there would expire too: " + e.all
}

func (e *TakesError) Unwrap() error { return client.ErrExpiry }

// neverExpires reports whether a slug is of what is always there: what is apart outlasts no
// memory that it was written to.
func neverExpires(slug nipae.Slug) bool {
	return slug.IsCore() || slug == "mem/narrative" || isMachines(slug) && !isApart(slug) || nipae.IsExchange(slug)
}

// expiry returns a draft that says when a version expires that is written onto a reading,
// when the one that is there does, and what goes along. What expires takes its history with
// it: unless that was to go before, it must be named. The error is client.ErrExpiry, or why
// the history is not known.
func expiry(ctx context.Context, m *Memory, slug nipae.Slug, e Expiry, reading nipae.Reading) (d Draft, err error) {
	var was int64
	if !reading.Tombstone() && reading.Head != nil {
		was, _ = nipae.Expiration(reading.Head.Event)
	}
	switch {
	case e.At == 0 || e.At == was:
		return Draft{Expires: was, was: was}, nil
	case neverExpires(slug):
		return d, fmt.Errorf("%w: core, the narrative and what programs keep never expire", client.ErrExpiry)
	case was > 0 && was < e.At, isApart(slug):
		return Draft{Expires: e.At, was: was}, nil
	}
	ctx, done := client.Part(ctx, 0.4)
	defer done()
	versions, status, err := m.logShown(ctx, slug)
	switch {
	case len(versions) == 0 && errors.Is(err, client.ErrNotFound):
		return Draft{Expires: e.At, was: was}, nil
	case len(versions) == 0:
		return d, err
	case status.Partial:
		return d, status.Incomplete()
	case e.With != "" && strings.HasPrefix(versions[0].ID, e.With):
		d = Draft{Expires: e.At, was: was}
		for _, v := range versions {
			if id, ok := writerlog.ParseID(v.ID); ok && (v.Expires == 0 || v.Expires > e.At) {
				d.along = append(d.along, id)
			}
		}
		return d, nil
	}
	return d, theseToo(versions)
}

// tell writes which versions go along with one that was sent: for whoever wrote them
// nothing else says so once all of it is gone. What is not written is perhaps called
// missing then.
func (d Draft) tell(ctx context.Context, m *Memory, id string) {
	k := 0
	for ids := range slices.Chunk(d.along, writerlog.UnitSize) {
		_, _, _ = m.Unchained().Set(ctx, writerlog.EndingSlug(id, k), writerlog.Ending{At: d.Expires, IDs: ids}.Text(), SetOptions{})
		k++
	}
}

// again returns when a version expires that is written as it once was, and when that did.
// What is there decides, which takes its history along; only what was removed expires as
// that version did, unless one that was to stay came after it. newer are the versions after
// it. The error is client.ErrExpiry.
func again(old Version, newer []Version, reading nipae.Reading, now int64) (at, was int64, err error) {
	if reading.Head != nil {
		at, _ = nipae.Expiration(reading.Head.Event)
	}
	stays := slices.ContainsFunc(newer, func(v Version) bool { return !v.Tombstone && v.Expires == 0 })
	if (reading.Head == nil || reading.Tombstone()) && at == 0 && !stays {
		at = old.Expires
	}
	if at > 0 && at <= now {
		return 0, 0, fmt.Errorf("%w: it has expired", client.ErrExpiry)
	}
	return at, old.Expires, nil
}

// maxNamed is how many versions are named.
const maxNamed = 8

// theseToo names the versions that would expire with a new one.
func theseToo(versions []Version) error {
	var all []string
	for _, v := range versions[:min(maxNamed, len(versions))] {
		all = append(all, fmt.Sprintf("%s of %s", v.ID[:minPrefix], time.Unix(v.CreatedAt, 0).UTC().Format(time.RFC3339)))
	}
	if more := len(versions) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%d before them", more))
	}
	return &TakesError{versions[0].ID[:minPrefix], strings.Join(all, ", ")}
}

// dated returns a draft whose text says when it expires, and claims nothing of that.
func (d Draft) dated() (Draft, error) {
	text, live := d.Body.Text()
	if neverExpires(d.Body.Slug()) {
		d.Expires = 0
		return d, nil
	}
	if !live {
		return d, nil
	}
	doc := frontmatter.Parse(text)
	if d.Expires > 0 && doc.Fields().Type == frontmatter.Narrative {
		return d, fmt.Errorf("%w: a narrative never expires", client.ErrExpiry)
	}
	text, err := frontmatter.Dated(doc, momentOf(d.Expires), momentOf(d.was), momentOf(d.Was))
	d.Body = d.Body.WithText(text)
	return d, err
}

func momentOf(at int64) frontmatter.Moment {
	if at == 0 {
		return frontmatter.Moment{}
	}
	return frontmatter.At(time.Unix(at, 0))
}

// live returns events without what has expired, which a relay may show still, and without
// what is older at its address: that went with it.
func live(r *reader, events []*nostr.Event) []*nostr.Event {
	ended := map[string]int64{} // by address
	for _, ev := range events {
		at, expires := nipae.Expiration(ev)
		if !expires || at > r.c.Now() {
			continue
		}
		if _, err := nipae.Open(r.key(), r.agent, r.owner, ev); err == nil {
			ended[ev.Tags.GetD()] = max(ended[ev.Tags.GetD()], int64(ev.CreatedAt))
		}
	}
	if len(ended) == 0 {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(ev *nostr.Event) bool {
		until, is := ended[ev.Tags.GetD()]
		return is && int64(ev.CreatedAt) <= until
	})
}
