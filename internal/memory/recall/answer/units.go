package answer

import (
	"context"
	"time"

	"engramd/internal/memory/activity"
	"engramd/nips/nipae"
)

// Units returns the active units of a memory with what their activation follows
// from, without those that machines keep.
func Units(v View, k activity.Known) []activity.Unit {
	core, _ := v.Text(string(nipae.Core))
	r := activity.NewReader(k, activity.Informations(v.Index().Said()), core)
	var all []activity.Unit
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
func Unit(v View, r activity.Reader, slug, text string, written time.Time) (activity.Unit, bool) {
	u, ok := r.Unit(activity.Text{Slug: slug, Text: text, Written: written})
	if !ok {
		return u, false
	}
	u.After = v.Index().Truth().Holds(slug)
	for _, old := range v.Index().Truth().Corrects(slug) {
		text, _ := v.Text(old)
		h, _ := v.Head(old)
		if c, ok := r.Superseded(activity.Text{Slug: old, Text: text, Written: time.Unix(h.UpdatedAt, 0).UTC()}); ok {
			u.Corrects = append(u.Corrects, c)
		}
	}
	return u, true
}

// Holds returns the active memories that would be found in place of one if it were
// archived; nothing where the source cannot be read.
func Holds(ctx context.Context, source Source, slug string) (all []string) {
	_ = source.Read(ctx, func(v View) error {
		all = v.Index().Truth().Holds(slug)
		return nil
	})
	return all
}

// Uses returns how often memories were used by all writers that say so in the
// memory: of each writer the most that it said, and of the own one also what it
// counted since.
func Uses(v View, writer string, own map[string]activity.Use, now time.Time) map[string]activity.Use {
	all, n := map[string]activity.Use{}, 0
	for _, h := range v.Under(activity.UsagePrefix) {
		text, ok := v.Text(h.Slug)
		if !ok || h.Slug == activity.UsagePrefix+writer {
			continue
		}
		if n++; n > activity.MaxWriters {
			break
		}
		activity.AddUses(all, activity.DecodeUsage(text, now))
	}
	text, _ := v.Text(activity.UsagePrefix + writer)
	mine := activity.DecodeUsage(text, now)
	for slug, u := range own {
		mine[slug] = activity.Most(mine[slug], u)
	}
	activity.AddUses(all, mine)
	return all
}
