package client

import (
	"context"

	"github.com/nbd-wtf/go-nostr"
)

// Known is what a machine knows of a pair's memory beside what relays show.
type Known interface {
	// At returns the newest version of an address, 64 lower-case hex digits, that is
	// known; the zero Newest is none. What need not be there any more, because a person
	// gave it up, the agent's key had it deleted or its time is over, is none. With an
	// error it is the newest that could be read.
	At(ctx context.Context, d string) (Newest, error)
	// Those is At of many addresses, by these. With an error some may lack.
	Those(ctx context.Context, ds []string) (map[string]Newest, error)
	// All is At of every address of which something is known, without events.
	All(ctx context.Context) (map[string]Newest, error)
	// Keep has a version that no relay shows outlast the copy of it on this machine.
	Keep(ctx context.Context, at Newest) error
	// Acted is told of requests of the agent's key (kinds 5 and 62) that were found when
	// versions were missing at the relays that are named, and returns those that they
	// explain, by their ids.
	Acted(ctx context.Context, missing []Newest, acts []*nostr.Event, relays []string) (map[string]bool, error)
	// Removed notes what a relay says of a version that it takes no more.
	Removed(ctx context.Context, at Newest, by Removal) error
}

// Removal is what a relay says of a version that it takes no more. Nobody signed that: the
// version stays known.
type Removal struct {
	Relay   string // its URL; "" says nothing
	Expired bool   // a newer version was there, and has expired; else its operator removed it
}

// Of says it of a version, in words.
func (r Removal) Of(version string) string {
	if r.Expired {
		return r.Relay + " had a version after " + version + ", which has expired"
	}
	return "the operator of " + r.Relay + " removed " + version
}

// Newest is the newest version that is known of an address.
type Newest struct {
	D, ID     string // 64 lower-case hex digits; ID is "" for none
	At        int64  // created_at, in Unix seconds
	Tombstone bool
	Event     *nostr.Event // as it was signed; nil: it is not here
	// Ended is when the newest version was written that has expired: what is older went
	// with it, though a relay may show that which never had it. 0 is none.
	Ended int64
	// Removed is what a relay says that takes it no more.
	Removed Removal
	// Open are ids of what was written there and of which nobody knows yet whether a
	// relay has it.
	Open []string
	// Err is why this machine could not be asked in full.
	Err error
}

// Newer reports whether it supersedes an event (NIP-01); nil is nothing there.
func (n Newest) Newer(ev *nostr.Event) bool {
	return n.ID != "" && (ev == nil || n.At > int64(ev.CreatedAt) || n.At == int64(ev.CreatedAt) && n.ID < ev.ID)
}
