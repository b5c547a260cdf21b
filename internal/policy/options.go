package policy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/nips/nipae"
)

// DefaultFuture is how far ahead of the relay's clock created_at may be.
const DefaultFuture = 15 * time.Minute

// Rate allows PerSecond events in the long run and Burst at once. PerSecond 0
// is no limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Options says who may write what. The zero value lets everybody write every
// event that is well-formed.
type Options struct {
	// Authors (write.authors), if any, are the pubkeys that may write.
	Authors []string
	// Owners (write.owners), if any, are the owners whose agents may write; see
	// Policy for what that means. A key passes by either list.
	Owners []string
	// Kinds (write.kinds), if any, are the kinds that may be written.
	Kinds []int
	// BannedAuthors and BannedKinds may not be written by, and not be written.
	BannedAuthors []string
	BannedKinds   []int
	// BannedEvents are ids that may not be written. AllowedEvents are ids that bans of authors and kinds, and lists of them,
	// do not hold for: the operator has let in this one event.
	BannedEvents, AllowedEvents []string
	// MaxTags bounds the tags of one event; 0 is no bound. Each is an index row
	// that the writer must make.
	MaxTags int
	// Future bounds created_at; 0 means DefaultFuture. There is no bound on the
	// past: agents republish their heads when they move relays.
	Future time.Duration
	// KeyRate and AddrRate bound the events of one author and of one client
	// address (IPv6: one /64).
	KeyRate, AddrRate Rate
	// RelayNames are the relay's own ws or wss URLs, for requests to vanish.
	RelayNames []string

	// Reader tells which pubkeys the writer has proved; nil means none, ever.
	Reader func(ctx context.Context) gate.Reader
	// Addr tells the client's address, invalid where there is none; nil means
	// none, ever.
	Addr func(ctx context.Context) netip.Addr
	// Approved tells whether the owner's stored list names the agent; nil means
	// that no list is kept.
	Approved func(ctx context.Context, owner, agent string) (bool, error)
	// Clock is the relay's; nil means time.Now.
	Clock func() time.Time
}

// rules is Options in the form that decisions need.
type rules struct {
	authors, owners, bannedAuthors map[string]struct{}
	bannedEvents, allowedEvents    map[string]struct{}
	kinds, bannedKinds             map[int]struct{}
	ownerList                      []string
	future                         time.Duration
	maxTags                        int
	names                          map[string]struct{}
	reader                         func(context.Context) gate.Reader
	addr                           func(context.Context) netip.Addr
	approved                       func(context.Context, string, string) (bool, error)
	clock                          func() time.Time
}

// compile checks o; the error names every option at fault, joined.
func compile(o Options) (*rules, error) {
	var errs []error
	r := &rules{
		authors:       keySet("write.authors", o.Authors, &errs),
		owners:        keySet("write.owners", o.Owners, &errs),
		bannedAuthors: keySet("write.ban_authors", o.BannedAuthors, &errs),
		bannedEvents:  keySet("banned events", o.BannedEvents, &errs),
		allowedEvents: keySet("allowed events", o.AllowedEvents, &errs),
		kinds:         kindSet("write.kinds", o.Kinds, &errs),
		bannedKinds:   kindSet("write.ban_kinds", o.BannedKinds, &errs),
		future:        o.Future,
		maxTags:       o.MaxTags,
		names:         make(map[string]struct{}, len(o.RelayNames)),
		reader:        o.Reader,
		addr:          o.Addr,
		approved:      o.Approved,
		clock:         o.Clock,
	}
	for owner := range r.owners {
		r.ownerList = append(r.ownerList, owner)
	}
	for _, raw := range o.RelayNames {
		name, err := nipae.CanonicalRelayURL(raw)
		if err != nil {
			errs = append(errs, fmt.Errorf("relay name %q: %w", raw, err))
		}
		r.names[name] = struct{}{}
	}
	if r.future < 0 {
		errs = append(errs, errors.New("the time window must not be negative"))
	}
	if r.future == 0 {
		r.future = DefaultFuture
	}
	for _, rate := range []Rate{o.KeyRate, o.AddrRate} {
		if rate.PerSecond < 0 || rate.PerSecond > 0 && rate.Burst < 1 {
			errs = append(errs, errors.New("a rate must not be negative and needs a burst of at least 1"))
		}
	}
	r.fillIn()
	return r, errors.Join(errs...)
}

// fillIn puts in the answers of functions that were not given.
func (r *rules) fillIn() {
	if r.reader == nil {
		r.reader = func(context.Context) gate.Reader { return gate.Reader{} }
	}
	if r.addr == nil {
		r.addr = func(context.Context) netip.Addr { return netip.Addr{} }
	}
	if r.approved == nil {
		r.approved = func(context.Context, string, string) (bool, error) { return false, nil }
	}
	if r.clock == nil {
		r.clock = time.Now
	}
}

func keySet(option string, list []string, errs *[]error) map[string]struct{} {
	set := make(map[string]struct{}, len(list))
	for i, key := range list {
		if !nostr.IsValid32ByteHex(key) {
			*errs = append(*errs, fmt.Errorf("%s: entry %d is not 64 lower-case hex digits", option, i+1))
		}
		set[key] = struct{}{}
	}
	return set
}

func kindSet(option string, list []int, errs *[]error) map[int]struct{} {
	set := make(map[int]struct{}, len(list))
	for _, kind := range list {
		if kind < 0 || kind > 65535 {
			*errs = append(*errs, fmt.Errorf("%s: %d is not a kind", option, kind))
		}
		set[kind] = struct{}{}
	}
	return set
}

func has[K comparable](set map[K]struct{}, key K) bool {
	_, ok := set[key]
	return ok
}
