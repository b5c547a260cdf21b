package policy

import (
	"context"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
	"engramd/nips/kind"
)

// RoomBounds say how much room there is for events. The zero value bounds
// nothing.
type RoomBounds struct {
	Max     int64 // bytes that the database may take; 0 is no bound
	Reserve int64 // the last of them, for known keys
	// Whole says that Max is judged here. Else the database keeps it by itself.
	Whole bool
}

// lookEvery is how long what was seen of the database counts.
const lookEvery = time.Second

// growth is by how many times its own size an event may make the database grow,
// with its words and tags in the indexes.
const growth = 3

// Room is what the database has left of its room. It is safe for concurrent use.
type Room struct {
	look  func(ctx context.Context) (used int64, err error)
	clock func() time.Time

	mu     sync.Mutex
	bounds RoomBounds
	at     time.Time
	used   int64 // as it was seen, and what was let in since may have added
}

// NewRoom makes a Room without bounds. look says what the database takes, in
// bytes; what is free within its file does not count.
func NewRoom(look func(ctx context.Context) (used int64, err error), clock func() time.Time) *Room {
	return &Room{look: look, clock: clock}
}

// SetBounds replaces the bounds.
func (r *Room) SetBounds(b RoomBounds) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bounds = b
}

// Bounds are those in force.
func (r *Room) Bounds() RoomBounds {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bounds
}

// left returns what is left, and the bounds. Where it cannot be told, there is
// room: the database has the last word.
func (r *Room) left(ctx context.Context) (int64, RoomBounds) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.clock(); r.bounds.Max > 0 && (r.at.IsZero() || now.Sub(r.at).Abs() >= lookEvery) {
		r.at = now
		if used, err := r.look(ctx); err == nil {
			r.used = used
		}
	}
	return r.bounds.Max - r.used, r.bounds
}

// take notes what an event of a size may take.
func (r *Room) take(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used += growth * int64(size)
}

const (
	noRoom      = "error: the relay has no room"
	keptForKeys = "error: the relay keeps the room that is left for keys that it has known for a day"
)

// rejectCrowded keeps the last room for keys that the relay knows: strangers
// have keys for nothing, and would take it from them. Where lists say who may
// write, whom they let in is no stranger; neither is who is exempt from rates.
// Requests to delete and to vanish make room, but take some too: those of
// strangers get half of what is kept.
func (p *Policy) rejectCrowded(ctx context.Context, ev *nostr.Event) (bool, string) {
	left, bounds := p.Room.left(ctx)
	kept, frees := bounds.Reserve, ev.Kind == nostr.KindDeletion || ev.Kind == kind.Vanish
	if frees {
		kept /= 2
	}
	switch {
	case bounds.Max == 0 || nostr.IsEphemeralKind(ev.Kind) || p.isOwn(ev):
		return false, ""
	case bounds.Whole && left <= 0 && !frees:
		return true, noRoom
	case left <= kept && p.isStranger(ctx, ev.PubKey):
		return true, keptForKeys
	}
	p.Room.take(wire.Size(ev))
	return false, ""
}

func (p *Policy) isStranger(ctx context.Context, key string) bool {
	if who := fairness.From(ctx); who.Exempt || who == (fairness.Who{}) || !p.anybody() || p.Known == nil {
		return false
	}
	known, err := p.Known(ctx, key)
	return err != nil || !known
}
