package nipae

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip40"
)

// PoisonThreshold is how far ahead of the clock a write may be dated. It is
// less than the 15 minutes that relays accept, so what passes here is taken
// there.
const PoisonThreshold = 10 * time.Minute

// ErrClockPoisoned means that a slug's head is dated so far ahead that nothing
// can supersede it yet: a conflict, to be shown to a person and not retried.
var ErrClockPoisoned = errors.New("the head is dated too far in the future to be superseded")

// NextCreatedAt returns the time of a write, max(now, head+1) (NIP-AE,
// "Writing"): now is the clock's, head that of the current head or 0 if there
// is none, all in Unix seconds. If it is more than PoisonThreshold ahead of
// now, the error is ErrClockPoisoned.
func NextCreatedAt(now, head int64) (int64, error) {
	if head < now {
		return now, nil
	}
	// head ≥ now, so the difference fits an uint64 whatever the signs are.
	ahead := uint64(head) - uint64(now)
	if head == math.MaxInt64 || ahead >= uint64(PoisonThreshold/time.Second) {
		return 0, fmt.Errorf("%w: by %d seconds", ErrClockPoisoned, ahead)
	}
	return head + 1, nil
}

// Expiration returns when relays may drop the event, in Unix seconds (NIP-40),
// and false if it never expires. An expired engram is still valid; that relays
// drop it at different times is for the caller to see.
func Expiration(ev *nostr.Event) (int64, bool) {
	if at := nip40.GetExpiration(ev.Tags); at >= 0 {
		return int64(at), true
	}
	return 0, false
}

// ErrNothingReadable means that relays did return something and that none of it
// is readable. It is never the same as absence: who took it for that would
// invite the agent to overwrite memory that is still there.
var ErrNothingReadable = errors.New("what the relays returned is not readable")

// Rejection is an event that is not a valid engram of the pair, and why: the
// error of Open.
type Rejection struct {
	Event *nostr.Event
	Err   error
}

// Reading is what a set of candidates says about one slug.
type Reading struct {
	// Head is the newest valid engram, a tombstone perhaps; nil if there is
	// none.
	Head *Engram
	// Unreadable is the number of distinct candidates at the address that are
	// not valid: all of them if there is no head, else those only that would be
	// the head if they were valid. More than 0 beside a head means: somebody
	// shows events that claim to be newer.
	Unreadable int
	// Rejected holds those candidates, newest first.
	Rejected []Rejection
	// Outside are candidates that the question does not cover: of another kind,
	// author, owner or address.
	Outside []Rejection
	// Latest is the greatest time, in Unix seconds, of what the agent signed at
	// this address, readable or not; 0 if nothing. A relay that has that event
	// takes nothing older, so a write below it would not become the head there.
	Latest int64
}

// Absent reports whether the slug has no record at all: nothing was returned.
// Candidates of which none is readable are not absence.
func (r Reading) Absent() bool {
	return r.Head == nil && len(r.Rejected) == 0 && len(r.Outside) == 0
}

// Tombstone reports whether the slug's record says that there is none.
func (r Reading) Tombstone() bool { return r.Head != nil && r.Head.Body.tombstoned }

// Text returns the text of the record, and false if it is absent or a
// tombstone (NIP-AE, "Reading").
func (r Reading) Text() (string, bool) {
	if r.Head == nil {
		return "", false
	}
	return r.Head.Body.Text()
}

// CreatedAt returns the time of the head, 0 without one: what NextCreatedAt
// asks for.
func (r Reading) CreatedAt() int64 {
	if r.Head == nil {
		return 0
	}
	return r.Head.CreatedAt()
}

// Newer reports whether a supersedes b: by the greater created_at, between
// equals by the lower id (NIP-01). nil is older than everything. It compares
// claims; whether the events are valid is not looked at.
func Newer(a, b *nostr.Event) bool {
	if a == nil || b == nil {
		return a != nil
	}
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return a.ID < b.ID
}

// SelectHead returns the head of a slug (NIP-AE, "Head selection"), given the
// union of what every relay returned for kind 30174, the agent as author, the
// slug's address as #d and the owner as #p. Order and duplicates do not matter.
// Invalid candidates are dropped, so none of them ever wins over a valid one.
//
// No candidates at all: the Reading is Absent. Candidates, but none of them
// valid: ErrNothingReadable, with the Reading saying what they are. That
// includes events that the question does not cover, at another address for
// example, because a relay that answers with those has not answered it. (For
// the head of one slug among all of a pair's events, see SelectHeads.)
func SelectHead(k ConversationKey, agent, owner string, s Slug, candidates []*nostr.Event) (Reading, error) {
	d := AddressIn(k, agent, owner, s)
	var at []*nostr.Event
	var outside []Rejection
	for _, ev := range distinct(candidates) {
		got, err := addressOf(agent, owner, ev)
		if err == nil && got != d {
			err = fmt.Errorf("%w: it is at another address", ErrNotEngram)
		}
		if err != nil {
			outside = append(outside, Rejection{Event: ev, Err: err})
		} else {
			at = append(at, ev)
		}
	}
	r := selectAt(k, agent, owner, at)
	r.Outside = outside
	return r, r.err()
}

// selectAt opens the distinct events of one address, newest first, until one
// is valid: what is older need not be verified at all.
func selectAt(k ConversationKey, agent, owner string, events []*nostr.Event) Reading {
	var r Reading
	for _, ev := range events {
		engram, err := Open(k, agent, owner, ev)
		if err == nil {
			r.Head = &engram
			r.Latest = max(r.Latest, engram.CreatedAt())
			break
		}
		r.Rejected = append(r.Rejected, Rejection{Event: ev, Err: err})
		if isSigned(ev, err) {
			r.Latest = max(r.Latest, int64(ev.CreatedAt))
		}
	}
	r.Unreadable = len(r.Rejected)
	return r
}

// err is ErrNothingReadable if there were candidates and none was valid.
func (r Reading) err() error {
	refused := slices.Concat(r.Rejected, r.Outside)
	if r.Head != nil || len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s, the first: %w", ErrNothingReadable, counted(len(refused), "event"), refused[0].Err)
}

// counted returns a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// isSigned reports whether a rejected event is one that the agent signed for
// this address all the same. Relays that do not look at payloads keep those
// whose content has no payload's shape.
func isSigned(ev *nostr.Event, err error) bool {
	return errors.Is(err, ErrUnreadable) || errors.Is(err, ErrBody) ||
		errors.Is(err, ErrPayload) && verify(ev) == nil
}

// distinct returns the events, newest first, each once, without changing the
// list it was given. Two events are the same only if all of them is: an event
// with the id of another and other content is a forgery, and must not take the
// place of the true one.
func distinct(events []*nostr.Event) []*nostr.Event {
	sorted := make([]*nostr.Event, 0, len(events))
	for _, ev := range events {
		if ev != nil {
			sorted = append(sorted, ev)
		}
	}
	slices.SortFunc(sorted, compareWhole)
	return slices.CompactFunc(sorted, func(a, b *nostr.Event) bool { return compareWhole(a, b) == 0 })
}

// compareWhole orders events by Newer, then by everything else, so that equal
// ones are neighbours and the order does not depend on that of arrival.
func compareWhole(a, b *nostr.Event) int {
	return cmp.Or(
		cmp.Compare(b.CreatedAt, a.CreatedAt),
		strings.Compare(a.ID, b.ID),
		strings.Compare(a.Sig, b.Sig),
		cmp.Compare(a.Kind, b.Kind),
		strings.Compare(a.PubKey, b.PubKey),
		strings.Compare(a.Content, b.Content),
		slices.CompareFunc(a.Tags, b.Tags, func(x, y nostr.Tag) int { return slices.Compare(x, y) }),
	)
}
