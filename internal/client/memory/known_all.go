package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// manyYoung is how many addresses are asked for once more by name; of more everything is.
const manyYoung = 200

// Unexplained asks the relays for requests of the agent's key, and returns what these do
// not explain.
func (r *Reader) Unexplained(ctx context.Context, missing []client.Newest) []client.Newest {
	if r.known() == nil {
		return missing
	}
	ctx, done := r.c.Operation(ctx)
	defer done()
	var status client.Status
	for _, t := range r.c.Targets() {
		status.Relays = append(status.Relays, client.RelayStatus{URL: t.URL})
	}
	return r.unexplained(ctx, missing, status)
}

// Besides says in a status what this machine knows beside heads that relays show.
func (r *Reader) Besides(ctx context.Context, heads []*nostr.Event, status client.Status) client.Status {
	ctx, done := r.c.Operation(ctx)
	defer done()
	_, _, status = r.besidesAll(ctx, r.knownAll(ctx), heads, status)
	return status
}

// knownAll begins to ask this machine for all that it knows; wait returns it.
func (r *reader) knownAll(ctx context.Context) (wait func() (map[string]client.Newest, error)) {
	k := r.known()
	if k == nil {
		return func() (map[string]client.Newest, error) { return nil, nil }
	}
	var all map[string]client.Newest
	var err error
	found := make(chan struct{})
	soon, done := client.Part(ctx, knownShare)
	go func() {
		defer close(found)
		defer done()
		all, err = k.All(soon)
	}()
	return func() (map[string]client.Newest, error) {
		<-found
		return all, err
	}
}

// besidesAll is besides of a whole listing: it returns its events with those that are
// known to be newer, and what is there by them.
func (r *reader) besidesAll(ctx context.Context, known func() (map[string]client.Newest, error), events []*nostr.Event, status client.Status) ([]*nostr.Event, nipae.Listing, client.Status) {
	all, err := known()
	events = slices.DeleteFunc(slices.Clone(events), func(ev *nostr.Event) bool {
		until := all[ev.Tags.GetD()].Ended
		return until > 0 && int64(ev.CreatedAt) <= until
	})
	l := r.selectHeads(events)
	status.Named = r.c.Options().Named && r.known() != nil
	unknown(&status, err)
	missing, young := missingIn(r, all, l)
	if more := againFor(ctx, r, young, &status); len(more) > 0 {
		events = append(events, more...)
		l = r.selectHeads(events)
		missing, _ = missingIn(r, all, l)
	}
	if len(missing) > 0 {
		missing = r.unexplained(ctx, missing, status)
	}
	var heads []nipae.Engram
	for _, at := range whole(ctx, r, missing, &status) {
		ours, ok := r.opened(at)
		if ok && isMachines(ours.Slug()) {
			continue
		}
		shown, _ := l.At(at.D)
		if ok = ok && (shown.Head != nil || r.Writable()); ok && !status.Named {
			events, heads = append(events, ours.Event), append(heads, ours)
		}
		if status.Partial {
			continue
		}
		if !ok {
			status.Withheld++
		}
		status.Behind++
		status.BehindAt = max(status.BehindAt, at.At)
		status.Removed = cmp.Or(at.Removed, status.Removed)
	}
	if len(heads) > 0 {
		l = l.With(heads)
	}
	return events, l, status
}

// unknown says in a status that this machine could not be asked; nil says nothing.
func unknown(status *client.Status, err error) {
	if err != nil {
		status.Partial, status.Unknown = true, err
	}
}

// missingIn returns what is known to be newer than a listing, and the addresses of those
// that are too young, or dated ahead, to be missed without asking again.
func missingIn(r *reader, all map[string]client.Newest, l nipae.Listing) (missing []client.Newest, young []string) {
	for d, at := range all {
		shown, _ := l.At(d)
		if !at.Newer(headOf(shown)) || shown.Latest > at.At || shown.Head == nil && at.Tombstone {
			continue
		}
		if missing = append(missing, at); isYoung(r.c, at) {
			young = append(young, d)
		}
	}
	return missing, young
}

// isYoung reports whether a version is asked for once more before it is missed.
func isYoung(c *client.Client, at client.Newest) bool { return c.Now()-at.At < young }

// againFor asks the relays, if all of them answered, once more for addresses.
func againFor(ctx context.Context, r *reader, ds []string, status *client.Status) []*nostr.Event {
	if len(ds) == 0 || status.Partial || status.Named || r.c.Options().Wait(ctx, onceMore) != nil {
		return nil
	}
	filter := r.all()
	if len(ds) <= manyYoung {
		filter.Tags = nostr.TagMap{"d": ds, "p": filter.Tags["p"]}
	}
	a, _ := r.c.AskThoseSoon(ctx, r.c.Targets(), filter)
	if again := r.status(a.Relays, 0); again.Partial {
		status.Partial, status.Relays = true, again.Relays
	}
	return a.Events
}

// whole returns versions with their events. What this machine has not read in time is
// left out, and makes the answer partial.
func whole(ctx context.Context, r *reader, missing []client.Newest, status *client.Status) (all []client.Newest) {
	if len(missing) == 0 {
		return nil
	}
	ctx, done := client.Part(ctx, knownShare)
	defer done()
	// In the order in which they came, which is about where they lie.
	slices.SortFunc(missing, func(a, b client.Newest) int { return cmp.Compare(a.At, b.At) })
	ds := make([]string, len(missing))
	for i, at := range missing {
		ds[i] = at.D
	}
	found, err := r.known().Those(ctx, ds)
	unknown(status, err)
	for _, at := range missing {
		if w, ok := found[at.D]; ok && w.ID == at.ID {
			at = w
		} else if err != nil {
			continue
		}
		all = append(all, at)
	}
	return all
}
