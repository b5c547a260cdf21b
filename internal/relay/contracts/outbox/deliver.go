package outbox

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// verdict is the result of one attempt to deliver. Its text is the metric's
// label.
type verdict string

// Verdicts. After the first five there are no further attempts.
const (
	delivered  verdict = "delivered"
	known      verdict = "known"
	superseded verdict = "superseded"
	withdrawn  verdict = "withdrawn" // removed from this relay by its author or the operator, or this relay will never take it
	abandoned  verdict = "abandoned" // refused for good: it is not sent again
	refused    verdict = "refused"   // the target refuses this event: others may do better
	failed     verdict = "failed"    // the target failed: others would fare the same
)

// final reports whether nothing more is to be done.
func (v verdict) final() bool { return v != refused && v != failed }

// carrier takes events to one target.
type carrier interface {
	carry(ctx context.Context, ev *nostr.Event) (verdict, error)
	close()
}

// local is this relay.
type local struct{ relay relay.Submitter }

func (l local) carry(ctx context.Context, ev *nostr.Event) (verdict, error) {
	a := l.relay.Submit(relay.AsAuthor(ctx, ev), relay.Submission{Event: ev})
	why := cmp.Or(a.Why, &nip01.Refusal{})
	if a.Outcome == store.Deleted.String() || why.Has(nip01.PrefixInvalid) {
		return withdrawn, why
	}
	v := spoken(a.OK, why.Prefix)
	switch {
	case v.final():
		return v, nil
	case why.Has(nip01.PrefixRateLimited):
		return refused, why // one author is too fast, not everybody
	}
	return v, why
}

func (local) close() {}

// spoken returns the verdict in a relay's answer to an event, by its prefix
// (NIP-01, OK).
func spoken(ok bool, prefix string) verdict {
	switch {
	case prefix == nip01.PrefixDuplicate && ok:
		return known
	case ok:
		return delivered
	case prefix == nip01.PrefixDuplicate:
		// It has a newer version. This relay keeps this one in history all the
		// same.
		return superseded
	case prefix == nip01.PrefixRateLimited || prefix == nip01.PrefixError:
		return failed
	}
	return refused
}

// remote is a further relay.
type remote struct {
	o      client.Options
	client atomic.Pointer[client.Client]
}

func newRemote(id client.Identity, url string, o Options) *remote {
	r := &remote{o: client.Options{Relays: []string{url}, Timeout: o.Timeout, Clock: o.Clock, Log: o.Log}}
	r.client.Store(client.New(id, r.o))
	return r
}

// become uses another identity for connections from now on.
func (r *remote) become(id client.Identity) { r.client.Swap(client.New(id, r.o)).Close() }

func (r *remote) carry(ctx context.Context, ev *nostr.Event) (verdict, error) {
	status, err := r.client.Load().Publish(ctx, ev)
	if len(status) != 1 {
		return failed, err
	}
	s := status[0]
	if s.Accepted {
		return spoken(true, prefixOf(s.Message)), nil
	}
	var refusal *client.RefusalError
	switch {
	case errors.As(s.Err, &refusal):
		return spoken(false, prefixOf(refusal.Message)), s.Err
	case errors.Is(s.Err, client.ErrAuth):
		return refused, s.Err // it wants an AUTH for this event and does not accept ours
	}
	return failed, s.Err
}

// prefixOf returns the machine-readable prefix of another relay's message.
func prefixOf(message string) string {
	prefix, _, _ := strings.Cut(message, ":")
	return prefix
}

func (r *remote) close() { r.client.Load().Close() }

// reason returns what may be logged of an error: of a refusal only its prefix,
// because relays put keys and ids into the rest.
func reason(err error) string {
	var own *nip01.Refusal
	var theirs *client.RefusalError
	var prefix string
	switch {
	case errors.As(err, &own):
		prefix = own.Prefix
	case errors.As(err, &theirs):
		prefix = theirs.Prefix()
	case errors.Is(err, client.ErrAuth):
		return "auth-required"
	default:
		return err.Error()
	}
	switch prefix {
	case "invalid", "blocked", "restricted", "auth-required", "rate-limited", "pow", "error", "mute":
		return prefix
	}
	return "refused"
}
