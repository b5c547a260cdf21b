package recollect

import (
	"context"
	"time"

	"engramd/internal/memory/activity"
	"engramd/nips/nipae"
)

// Units returns the active units of a memory with what their activation follows
// from, without those that machines keep.
func Units(v View, k metabolism.Known) []metabolism.Unit {
	core, _ := v.Text(string(nipae.Core))
	r := metabolism.NewReader(k, metabolism.Informations(v.Index().Said()), core)
	var all []metabolism.Unit
	for _, h := range v.Heads() {
		if Reserved(h.Slug) {
			continue
		}
		text, ok := v.Text(h.Slug)
		if !ok {
			continue
		}
		if u, ok := Unit(v, r, h.Slug, text, time.Unix(h.UpdatedAt, 0).UTC()); ok {
			all = append(all, u)
		}
	}
	return all
}

// Unit makes a unit of an active memory, with what it corrects and what has to be
// archived before it; false if it is not active.
func Unit(v View, r metabolism.Reader, slug, text string, written time.Time) (metabolism.Unit, bool) {
	u, ok := r.Unit(metabolism.Text{Slug: slug, Text: text, Written: written})
	if !ok {
		return u, false
	}
	u.After = v.Index().Holds(slug)
	for _, old := range v.Index().Corrects(slug) {
		text, _ := v.Text(old)
		h, _ := v.Head(old)
		if c, ok := r.Superseded(metabolism.Text{Slug: old, Text: text, Written: time.Unix(h.UpdatedAt, 0).UTC()}); ok {
			u.Corrects = append(u.Corrects, c)
		}
	}
	return u, true
}

// Holds returns the active memories that would be found in place of one if it were
// archived; nothing where the source cannot be read.
func Holds(ctx context.Context, source Source, slug string) (all []string) {
	_ = source.Read(ctx, func(v View) error {
		all = v.Index().Holds(slug)
		return nil
	})
	return all
}

// Uses returns how often memories were used by all writers that say so in the
// memory: of each writer the most that it said, and of the own one also what it
// counted since.
func Uses(v View, writer string, own map[string]metabolism.Use, now time.Time) map[string]metabolism.Use {
	all, n := map[string]metabolism.Use{}, 0
	for _, h := range v.Under(metabolism.UsagePrefix) {
		text, ok := v.Text(h.Slug)
		if !ok || h.Slug == metabolism.UsagePrefix+writer {
			continue
		}
		if n++; n > metabolism.MaxWriters {
			break
		}
		metabolism.AddUses(all, metabolism.DecodeUsage(text, now))
	}
	text, _ := v.Text(metabolism.UsagePrefix + writer)
	mine := metabolism.DecodeUsage(text, now)
	for slug, u := range own {
		mine[slug] = metabolism.Most(mine[slug], u)
	}
	metabolism.AddUses(all, mine)
	return all
}
