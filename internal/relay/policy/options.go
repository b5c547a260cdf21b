package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
)

// DefaultFuture is how far ahead of the relay's clock created_at may be.
const DefaultFuture = 15 * time.Minute

// Rates bound what is written in a time. A PerSecond of 0 is no limit. Key
// holds for every author, and the others for clients that are not exempt from
// rates (fairness.Who): neither for the relay's own writing nor for imports.
type Rates struct {
	Key   fairness.Rate // events of one author
	Share fairness.Rate // events of one share
	Rows  fairness.Rate // rows that events have written, of one author and of one share
	Bytes fairness.Rate // of stored events, of one share
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
	// BannedEvents are ids that may not be written. AllowedEvents are ids that
	// bans of authors and kinds, and lists of them, do not hold for: the
	// operator has let in this one event.
	BannedEvents, AllowedEvents []string
	// MaxTags bounds the tags of one event; 0 is no bound. Each is an index row
	// that the writer must make.
	MaxTags int
	// Future bounds created_at; 0 means DefaultFuture. There is no bound on the
	// past: agents republish their heads when they move relays.
	Future time.Duration
	// Rates bound what authors and shares may write in a time.
	Rates Rates
	// Import says that events are brought by the operator: what only tells what an
	// author wants of relays has no effect on what is there already.
	Import bool
	// OwnName tells whether a URL is the relay's own, for requests to vanish; nil
	// means that it has none.
	OwnName func(url string) bool

	// Reader tells which pubkeys the writer has proved; nil means none, ever.
	Reader func(ctx context.Context) gate.Reader
	// Attested tells what attestations came beside the events, with the request
	// or the connection; nil means none, ever.
	Attested func(ctx context.Context) []*Attestation
	// Approved tells whether the stored list of one of the owners names the agent;
	// nil means that no list is kept.
	Approved func(ctx context.Context, owners []string, agent string) (bool, error)
	// Own tells whether a key is the relay's, by which it decides and lets
	// contracts expire: neither lists nor rates keep it from that. nil means
	// that it has none.
	Own func(pubkey string) bool
	// Provisioned tells which keys the operator had made for agents: they pass as
	// those of Authors do. nil means that there are none.
	Provisioned func(ctx context.Context, key string) (bool, error)
	// Room is how much room is left for events; nil means enough. Known tells which
	// keys may use up the last of it (fairness.Keys), where everybody may write.
	Room  *Room
	Known func(ctx context.Context, key string) (bool, error)
	// Clock is the relay's; nil means time.Now.
	Clock func() time.Time
	// Confirmed reports whether the clock may be gone by: what is refused by one that
	// may not is refused for now only. nil means that it may.
	Confirmed func() bool
}

// rules is Options in the form that decisions need.
type rules struct {
	Options
	authors, owners, bannedAuthors map[string]struct{}
	bannedEvents, allowedEvents    map[string]struct{}
	kinds, bannedKinds             map[int]struct{}
	ownerList                      []string
}

// compile checks o; the error names every option at fault, joined.
func compile(o Options) (*rules, error) {
	var errs []error
	r := &rules{
		Options:       o,
		authors:       keySet("write.authors", o.Authors, &errs),
		owners:        keySet("write.owners", o.Owners, &errs),
		bannedAuthors: keySet("write.ban_authors", o.BannedAuthors, &errs),
		bannedEvents:  keySet("banned events", o.BannedEvents, &errs),
		allowedEvents: keySet("allowed events", o.AllowedEvents, &errs),
		kinds:         kindSet("write.kinds", o.Kinds, &errs),
		bannedKinds:   kindSet("write.ban_kinds", o.BannedKinds, &errs),
	}
	r.ownerList = slices.Collect(maps.Keys(r.owners))
	if o.Future < 0 {
		errs = append(errs, errors.New("the time window must not be negative"))
	}
	r.Future = cmp.Or(o.Future, DefaultFuture)
	for _, rate := range []fairness.Rate{o.Rates.Key, o.Rates.Share, o.Rates.Rows, o.Rates.Bytes} {
		if rate.PerSecond < 0 || rate.PerSecond > 0 && rate.Burst < 1 {
			errs = append(errs, errors.New("a rate must not be negative and needs a burst of at least 1"))
		}
	}
	r.fillIn()
	return r, errors.Join(errs...)
}

// fillIn puts in the answers of functions that were not given.
func (r *rules) fillIn() {
	if r.Reader == nil {
		r.Reader = func(context.Context) gate.Reader { return gate.Reader{} }
	}
	if r.Attested == nil {
		r.Attested = func(context.Context) []*Attestation { return nil }
	}
	if r.Approved == nil {
		r.Approved = func(context.Context, []string, string) (bool, error) { return false, nil }
	}
	if r.Provisioned == nil {
		r.Provisioned = func(context.Context, string) (bool, error) { return false, nil }
	}
	if r.OwnName == nil {
		r.OwnName = func(string) bool { return false }
	}
	if r.Clock == nil {
		r.Clock = time.Now
	}
	if r.Confirmed == nil {
		r.Confirmed = func() bool { return true }
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
