package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/localcopy/follow"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/state"
	"engramd/internal/protocol/wire"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

const (
	// repairLanes is how many events are sent again at once.
	repairLanes = 32
	// ratePatience is the least time that one gets: a relay may hold back a crowd by rate.
	ratePatience = time.Minute
)

// Fate is what became of what no relay shows, or what would.
type Fate string

// The fates.
const (
	ToSend   Fate = "would send"
	TextOnly Fate = "text only" // its text is here, and not the event as it was signed
	NoText   Fate = "no text"   // its id is here
	NotSent  Fate = "not sent"  // an owner's: the agent may have deleted it
	WasSent  Fate = "sent"
	Left     Fate = "left" // a relay failed
	Refused  Fate = "refused"
	Removed  Fate = "removed" // by a relay's operator
	Deleted  Fate = "deleted" // by the agent's key
	Expired  Fate = "expired" // a newer one, at a relay
	ToEnd    Fate = "would end"
	GivenUp  Fate = "given up"
)

// Missing is a version that this machine knows and no relay shows, or a request of the
// agent's key to delete.
type Missing struct {
	client.Newest            // without the event
	Slug          nipae.Slug // "" where it is not known
	None          bool       // relays show nothing in its place
	Act           *nostr.Event
	Fate          Fate
	Published     []client.PublishStatus // what relays said
}

// Repair is a local copy that is caught up, and what is missing at the relays.
type Repair struct {
	*Copy
	Status    client.Status // of the catching up
	Silent    []string      // relays that are written to and did not answer
	Confirmed time.Time     // when a relay had confirmed the copy before; zero for never
	Others    int           // versions that were written elsewhere since
	Missing   []*Missing    // requests, then removals, then texts, each the oldest first
}

// Repair runs do on what no relay shows, once the local copy is caught up with all of
// them. lost: an owner sends also what relays show nothing of. The error is
// client.ErrNoRelay where none answers.
func (s *Session) Repair(ctx context.Context, lost bool, do func(context.Context, *Repair) error) error {
	l, err := s.Copies.Open(ctx, s.o.Note)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // what was kept is kept
	l.depth = follow.Full
	before, err := l.Follower.Freshness(ctx)
	if err = cmp.Or(err, l.CatchUp(ctx, 0)); err != nil {
		return err
	}
	after, err := l.Follower.Freshness(ctx)
	r := &Repair{Copy: l, Status: l.Status(answer.State{Stale: after.Stale, Unfinished: after.Unfinished}), Confirmed: before.Latest}
	for _, o := range l.last {
		if o.Err != nil && slices.ContainsFunc(s.Client.WriteTargets(), func(t client.Target) bool { return t.URL == o.URL }) {
			r.Silent = append(r.Silent, o.URL)
		}
	}
	if !l.Answered() {
		err = cmp.Or(err, client.NoRelay(r.Status.Relays))
	}
	for _, find := range []func(context.Context) error{r.acts, func(ctx context.Context) error { return r.versions(ctx, lost || s.Memory.Writable()) }} {
		if err == nil {
			err = find(ctx)
		}
	}
	slices.SortFunc(r.Missing, func(a, b *Missing) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
	if err != nil {
		return err
	}
	return do(ctx, r)
}

func (m *Missing) rank() int {
	switch {
	case m.Act != nil:
		return 0
	case m.Tombstone:
		return 1
	}
	return 2
}

// Behind is what readers tell of it: nothing of removals where relays show nothing, and
// of what programs keep for themselves.
func (r *Repair) Behind() (s client.Status) {
	for _, m := range r.Missing {
		if m.Act != nil || m.Tombstone && m.None || strings.HasPrefix(string(m.Slug), "mem/sys/") {
			continue
		}
		s.Behind++
		s.BehindAt = max(s.BehindAt, m.At)
		if s.Removed = cmp.Or(m.Removed, s.Removed); m.Fate != ToSend {
			s.Withheld++
		}
	}
	return s
}

// acts finds the requests of the agent's key that the state keeps and no relay shows.
func (r *Repair) acts(ctx context.Context) error {
	heads, err := r.s.known.heads(ctx)
	if err != nil || heads == nil {
		return err
	}
	kept, err := heads.Acts(ctx)
	if err != nil || len(kept) == 0 {
		return err
	}
	agent, c := r.s.Memory.Agent(), r.s.Client
	ctx, done := c.Operation(ctx)
	defer done()
	there, err := c.AskThose(ctx, c.WriteTargets(), nostr.Filter{Kinds: []int{nostr.KindDeletion, kind.Vanish}, Authors: []string{agent}})
	for _, text := range kept {
		ev, parseErr := wire.ParseEvent(text)
		if parseErr == nil && ev.PubKey == agent && len(r.targets(ev)) > 0 && !slices.ContainsFunc(there.Events, func(e *nostr.Event) bool { return e.ID == ev.ID }) {
			r.Missing = append(r.Missing, &Missing{Newest: client.Newest{ID: ev.ID, At: int64(ev.CreatedAt)}, Act: ev, Fate: ToSend})
		}
	}
	return err
}

// targets are the relays that an event is sent to; a request to vanish only to those that
// it names.
func (l *Copy) targets(ev *nostr.Event) []client.Target {
	return slices.DeleteFunc(l.s.Client.WriteTargets(), func(t client.Target) bool { return ev.Kind == kind.Vanish && !vanishesAt(ev, t.URL) })
}

// versions finds those that no relay shows, and that no request of the agent's key
// explains.
func (r *Repair) versions(ctx context.Context, lost bool) error {
	own := map[string]state.Address{}
	known, err := r.s.known.All(ctx)
	heads, headsErr := r.s.known.heads(ctx)
	if err = cmp.Or(err, headsErr); err == nil && heads != nil {
		own, err = heads.All(ctx)
	}
	lasts, lastsErr := r.Newest(ctx)
	if err = cmp.Or(err, lastsErr); err != nil {
		return err
	}
	in := make(map[string]localcopy.Last, len(lasts))
	for _, last := range lasts {
		in[last.D] = last
		if last.Shown == localcopy.ShownNow && last.CreatedAt > r.Confirmed.Unix() && own[last.D].Head.ID != last.ID {
			r.Others++
		}
	}
	var missing []client.Newest
	for d, n := range known {
		if last := in[d]; n.ID != "" && !(n.ID == last.ID && last.Shown == localcopy.ShownNow) {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		missing = r.s.Memory.Unexplained(ctx, missing)
	}
	for some := range slices.Chunk(missing, readAtOnce) {
		whole, err := r.s.known.Those(ctx, addresses(some))
		if err != nil {
			return err
		}
		for _, n := range some {
			if m := r.look(n, whole[n.D], in[n.D], lost); m != nil {
				r.Missing = append(r.Missing, m)
			}
		}
	}
	return nil
}

// look is what is missing where a version is not shown, and last is the newest of the
// copy; nil for a removal of which the id is left, where relays show nothing.
func (r *Repair) look(n, whole client.Newest, last localcopy.Last, lost bool) *Missing {
	m := &Missing{Newest: n, Slug: nipae.Slug(last.Slug), Fate: NoText, None: last.ID == "" || last.Shown == localcopy.ShownNone}
	if whole.ID != n.ID {
		return nil
	}
	e, ok := r.opened(whole.Event)
	switch {
	case ok:
		if m.Slug, m.Fate = e.Slug(), ToSend; m.None && !lost {
			m.Fate = NotSent
		}
	case n.Tombstone && m.None:
		return nil
	case last.ID == n.ID:
		m.Fate = TextOnly
	}
	return m
}

func (l *Copy) opened(ev *nostr.Event) (e nipae.Engram, ok bool) {
	if ev == nil {
		return e, false
	}
	e, err := nipae.Open(l.s.Memory.Conversation(), l.s.Memory.Agent(), l.s.Memory.Owner(), ev)
	return e, err == nil
}

// Lacking counts, for relays that are written to, what others show and they do not, by
// URL.
func (l *Copy) Lacking(ctx context.Context) (map[string]int64, error) {
	var urls []string
	for _, t := range l.s.Client.WriteTargets() {
		urls = append(urls, t.URL)
	}
	return l.Lacks(ctx, urls, l.s.Client.Relays())
}

// GiveUp notes that a person gave a version up, or all up to a time where its id is "":
// nobody on this machine tells of it any more. The error is client.ErrReadOnly for an
// owner without an id, who has no state to note it in.
func (l *Copy) GiveUp(ctx context.Context, m *Missing) error {
	heads, err := l.s.known.heads(ctx)
	switch {
	case err == nil && heads != nil:
		err = cmp.Or(heads.Lose(ctx, m.D, state.Loss{At: m.At, Why: state.Accepted}), heads.Drop(ctx, m.ID))
	case m.ID == "":
		err = cmp.Or(err, client.ErrReadOnly)
	}
	if err == nil {
		m.Fate = GivenUp
		_, err = l.Drop(ctx, m.ID)
	}
	return err
}

// Anew signs a version's text as a new one, or its removal, and sends that in its place.
// The error is client.ErrBehind where the text is not here, client.ErrConflict where the
// version is another one by now.
func (l *Copy) Anew(ctx context.Context, m *Missing, remove bool) error {
	whole, err := l.s.known.At(ctx, m.D)
	e, ok := l.opened(whole.Event)
	body := e.Body
	switch {
	case err != nil:
	case remove && m.Slug.IsCore():
		err = client.ErrCore
	case whole.ID != m.ID:
		err = &client.ConflictError{Reason: "it was written meanwhile"}
	case remove && ok:
		body = body.Tombstoned()
	case remove:
		body, err = nipae.NewTombstone(m.Slug)
	case !ok:
		err = fmt.Errorf("%w: %s: its text is not here", client.ErrBehind, m.Slug)
	}
	at, afterErr := l.s.Memory.After(m.At)
	if err = cmp.Or(err, afterErr); err != nil {
		return err
	}
	draft := memory.Draft{Body: body, At: at}
	if ok {
		draft.Expires, _ = nipae.Expiration(whole.Event)
	}
	events, err := l.s.Memory.Compose(ctx, []memory.Draft{draft})
	if err != nil {
		return err
	}
	m.Published, err = l.s.Memory.Publish(ctx, events[0])
	l.s.Copies.wrote(ctx, client.Status{Wrote: events[0], Published: m.Published})
	if m.Fate = WasSent; err != nil {
		m.Fate = Left
	}
	return nil
}
