package contracts

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/relay"
	"engramd/internal/share"
)

// Submitter is the door to the relay; *relay.Relay is one.
type Submitter interface {
	// Submit takes a verified event and returns after it is durable, or refused.
	Submit(ctx context.Context, ev *nostr.Event) relay.Answer
}

// Signer signs for the identities whose keys the server holds.
type Signer interface {
	// Conversation is the NIP-44 key between a key that the server holds and
	// another. Without the first the error is an *Error.
	Conversation(ctx context.Context, pubkey, other string) ([32]byte, error)
	// Sign completes ev, which has everything but ID and Sig, with the key of
	// ev.PubKey. Without it the error is an *Error.
	Sign(ctx context.Context, ev *nostr.Event) error
}

// RelayKeys are the keys by which the relay speaks for itself: of the order of a thread,
// and as the decider or the expirer that contracts name. *relaykey.Ring is one.
type RelayKeys interface {
	// PubKey is the relay's key in hex.
	PubKey() string
	// Sign signs with the relay's key.
	Sign(ev *nostr.Event) error
	// SignAs signs with the relay's key or a former one, by its public key in hex. It
	// is an error for keys whose secret is not here.
	SignAs(pubkey string, ev *nostr.Event) error
}

// Sealer encrypts and authenticates under the master key.
type Sealer interface {
	// Ready returns nil, or an *Error that is Unavailable and says why nothing
	// can be sealed.
	Ready() error
	// Hold keeps the master key from changing until release: from before Seal until
	// what was sealed is stored.
	Hold() (release func())
	// Seal encrypts text; context must be the same at Open.
	Seal(text, context []byte) ([]byte, error)
	// Open decrypts what Seal made.
	Open(sealed, context []byte) ([]byte, error)
}

// Identities knows the names of agents. Its errors are *Error for refusals.
type Identities interface {
	// ByAgent finds the identity with an agent id, nil for none.
	ByAgent(ctx context.Context, agentID string) (*Identity, error)
	// ByPubKey finds the name bound to a pubkey in hex, nil for none.
	ByPubKey(ctx context.Context, pubkey string) (*Identity, error)
	// Provision makes a key for an agent that has none. A name taken is a
	// Conflict.
	Provision(ctx context.Context, agentID string) (Provisioned, error)
	// Bind binds a name to a key, first come.
	Bind(ctx context.Context, agentID, pubkey string) (Identity, error)
	// Claim gives a provisioned key away, once, and forgets it and its tokens.
	Claim(ctx context.Context, agentID string) (Claimed, error)
	// Rotate makes a new token for a provisioned key and voids those before. A
	// key that is not held is a Conflict.
	Rotate(ctx context.Context, agentID string) (Provisioned, error)
	// Void makes all tokens of a provisioned key worth nothing. A key that is not
	// held is a Conflict.
	Void(ctx context.Context, agentID string) (Identity, error)
	// List gives identities by their names, and says how many there are in all.
	List(ctx context.Context, limit, offset int) (page []Identity, total int, err error)
	// Delete forgets an identity. That a key is held which would be lost is a
	// Conflict, unless withKey says that this is meant.
	Delete(ctx context.Context, agentID string, withKey bool) (Identity, error)
}

// Writers tells who may write; *policy.Live is one. Its reasons are refusals with
// their prefix (NIP-01), "" for keys that may.
type Writers interface {
	// Banned is why a key may write nothing at all.
	Banned(ctx context.Context, key string) string
	// Unlisted is why the lists of writers let a key write nothing.
	Unlisted(ctx context.Context, key string) string
}

// everybody are Writers that refuse nobody.
type everybody struct{}

func (everybody) Banned(context.Context, string) string   { return "" }
func (everybody) Unlisted(context.Context, string) string { return "" }

// Outbox delivers signed events, each once to each target, those of an author in
// a contract in the order they were given, and tries again until they are taken.
type Outbox interface {
	// Targets are the further relays. What this relay stores is queued for them
	// in the same commit (relay.WithForward).
	Targets() []string
	// Rouse is called when something was queued like that.
	Rouse()
	// Publish queues an event durably for the further relays and, if local, for
	// this one, which has not taken it yet. An event it knows is no error. When
	// the relay has taken a local one, who runs the outbox calls Service.Deliver.
	Publish(ctx context.Context, ev *nostr.Event, local bool) error
	// Waits reports whether an event of an author waits for this relay in a
	// contract.
	Waits(ctx context.Context, contract, author string) (bool, error)
}

// Options are what a Service is made of. Relay, Store, Table, Signer, Sealer
// and Identities are required.
type Options struct {
	Store      Store
	Relay      Submitter
	Table      func() *gate.Table // the read rules in force (gate.contracts)
	Signer     Signer
	Sealer     Sealer
	Identities Identities
	RelayKeys  RelayKeys        // nil: the relay signs no order of a thread, no decision and no expiry
	Writers    Writers          // nil: everybody may write
	Outbox     Outbox           // nil: nothing is published elsewhere, nothing is tried again
	Guesses    *share.Guesses   // counts ids that mean nothing to who names them; nil counts none
	Clock      func() time.Time // nil is time.Now
	Rand       io.Reader        // nil is crypto/rand.Reader
	Limits     Limits
	Log        *slog.Logger // nil discards
}

// Limits bound what a caller may send and keep. Zero means the default.
type Limits struct {
	Content     int // bytes of an entry's content, description or note; default 64 KiB
	Attachments int // of an entry; default 32
	Private     int // private entries of one author in one contract; default 10,000
	Event       int // bytes of a message with an event, which readers and further relays take; default 256 KiB
}
