package contracts

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
)

// Signer signs for the identities whose keys the server holds.
type Signer interface {
	// Conversation returns the NIP-44 key between a key that the server holds
	// and another. The error is an *Error if the server does not hold the
	// first.
	Conversation(ctx context.Context, pubkey, other string) ([32]byte, error)
	// Sign completes ev, which has everything but ID and Sig, with the key of
	// ev.PubKey. The error is an *Error if the server does not hold it.
	Sign(ctx context.Context, ev *nostr.Event) error
}

// RelayKeys are the keys with which the relay signs for itself: the order of a
// thread, and moves as the decider or expirer that contracts name.
// *relaykey.Ring implements it.
type RelayKeys interface {
	// PubKey returns the relay's key in hex.
	PubKey() string
	// Sign signs with the relay's key.
	Sign(ev *nostr.Event) error
	// Handovers are the statements of former keys who their successors are.
	Handovers(ctx context.Context) ([]*nostr.Event, error)
	// SignAs signs with the relay's key or a former one, given by its public
	// key in hex. It fails for keys whose secret is not here.
	SignAs(pubkey string, ev *nostr.Event) error
}

// Sealer encrypts and authenticates under the master key.
type Sealer interface {
	// Ready returns nil, or an *Error that is Unavailable and says why nothing
	// can be sealed.
	Ready() error
	// Hold keeps the master key from changing until release is called. Callers
	// hold it from before Seal until the sealed value is stored.
	Hold() (release func())
	// Seal encrypts text; Open needs the same context.
	Seal(text, context []byte) ([]byte, error)
	// Open decrypts what Seal made.
	Open(sealed, context []byte) ([]byte, error)
}

// Identities knows the names of agents. A refusal is an *Error.
type Identities interface {
	// ByAgent finds the identity with an agent id, nil for none.
	ByAgent(ctx context.Context, agentID string) (*Identity, error)
	// ByPubKey finds the name bound to a pubkey in hex, nil for none.
	ByPubKey(ctx context.Context, pubkey string) (*Identity, error)
	// Provision makes a key for an agent that has none. It is a Conflict if the
	// name is taken.
	Provision(ctx context.Context, agentID string) (Provisioned, error)
	// Bind binds a name to a key; the first to ask gets it.
	Bind(ctx context.Context, agentID, pubkey string) (Identity, error)
	// Claim gives a provisioned key away, once, and forgets it and its tokens.
	Claim(ctx context.Context, agentID string) (Claimed, error)
	// Rotate makes a new token for a provisioned key and voids those before. It
	// is a Conflict if the key is not held.
	Rotate(ctx context.Context, agentID string) (Provisioned, error)
	// Void voids all tokens of a provisioned key. It is a Conflict if the key
	// is not held.
	Void(ctx context.Context, agentID string) (Identity, error)
	// List returns identities in the order of their names, and how many there
	// are in all.
	List(ctx context.Context, limit, offset int) (page []Identity, total int, err error)
	// Delete forgets an identity. It is a Conflict if a key is held that would
	// be lost, unless withKey says that this is meant.
	Delete(ctx context.Context, agentID string, withKey bool) (Identity, error)
}

// Writers decides who may write; *policy.Live implements it. Its methods return
// a refusal with its prefix (NIP-01), "" for keys that may write.
type Writers interface {
	// Banned returns why a key may write nothing at all.
	Banned(ctx context.Context, key string) string
	// Unlisted returns why the lists of writers exclude a key.
	Unlisted(ctx context.Context, key string) string
}

// everybody implements Writers and refuses nobody.
type everybody struct{}

func (everybody) Banned(context.Context, string) string   { return "" }
func (everybody) Unlisted(context.Context, string) string { return "" }

// Outbox delivers signed events, each once to each target, and tries again
// until they are taken. Events of one author in one contract keep the order in
// which they were queued.
type Outbox interface {
	// Targets returns the further relays. What this relay stores is queued for
	// them in the same commit (relay.Submission).
	Targets() []string
	// Rouse wakes the outbox after such a commit.
	Rouse()
	// Publish queues an event durably for the further relays and, if local, for
	// this one, which has not taken it yet. Queueing an event again is not an
	// error. The outbox hands local events to Service.Deliver.
	Publish(ctx context.Context, ev *nostr.Event, local bool) error
	// Waits reports whether an event of an author waits for this relay in a
	// contract.
	Waits(ctx context.Context, contract, author string) (bool, error)
}

// Options configure a Service. Relay, Store, Table, Signer, Sealer and
// Identities are required.
type Options struct {
	Store      Store
	Relay      relay.Submitter
	Table      func() *gate.Table // the read rules in force (gate.contracts)
	Signer     Signer
	Sealer     Sealer
	Identities Identities
	RelayKeys  RelayKeys         // nil: the relay signs neither orders of threads nor decisions nor expiries
	Writers    Writers           // nil: everybody may write
	Outbox     Outbox            // nil: nothing is published elsewhere or tried again
	Guesses    *fairness.Guesses // counts ids that show their caller nothing; nil counts none
	Clock      func() time.Time  // nil is time.Now
	Confirmed  func() bool       // whether the clock may be gone by: until it may, no deadline is decided; nil: it may
	Rand       io.Reader         // nil is crypto/rand.Reader
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
