package store

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/nips/nip01"
)

// Outcome is what became of an event. String is the metric label.
type Outcome int

// The outcomes of Put, in no particular order; Result.Why has the answer to the
// client.
const (
	Stored    Outcome = iota // new, and nothing was superseded
	Replaced                 // new head of its address, an older version was superseded
	Duplicate                // this very event is here already, as head, regular event or history
	Stale                    // a newer (or equal and lower-id) head exists
	Deleted                  // its author deleted it (NIP-09, NIP-62), or the operator banned it or rolled it back
	Conflict                 // PutOptions.Base is not the head of its address
	Refused                  // lifecycle or quota: Why is invalid or blocked
	Failed                   // the store failed: nothing is known to be kept, Err says why
)

// The reasons that clients are told. Clients compare these texts: they must not
// change.
var (
	WhyDuplicate = nip01.Refuse(nip01.PrefixDuplicate, "already have this event")
	WhyDeleted   = nip01.Refuse(nip01.PrefixBlocked, "deleted by its author")
	WhyStale     = nip01.Refuse(nip01.PrefixDuplicate, "a newer version is stored")
	WhyConflict  = nip01.Refuse(nip01.PrefixConflict, "another version is the head")
)

// WhyBanned answers an event that the operator has banned by its id.
var WhyBanned = nip01.Refuse(nip01.PrefixBlocked, "the operator of this relay has banned this event")

// WhyRemoved answers a version of an address where the operator has removed
// this superseded version or a newer one.
var WhyRemoved = nip01.Refuse(nip01.PrefixBlocked, "the operator of this relay has removed this superseded version or a newer one")

// WhyExpired answers a version of an address whose head has expired, which was
// newer and took the versions before it along.
var WhyExpired = nip01.Refuse(nip01.PrefixBlocked, "a newer version was stored, and has expired")

// WhyRolledBack answers an event that a rollback took away and that the operator
// has not brought back.
var WhyRolledBack = nip01.Refuse(nip01.PrefixBlocked, "removed by the operator")

// WhyTaken answers an attempt to take, or to write under, a contract id that
// belongs to somebody else.
var WhyTaken = nip01.Refuse(nip01.PrefixBlocked, "this contract id is taken")

// GuessedText refuses a share that has named too many contract ids which show
// it nothing.
const GuessedText = "too many contract ids were named here that show nothing; ask for contracts of your own, or come back later"

// Result is the answer to one Put.
type Result struct {
	Outcome Outcome
	Seq     int64          // of the stored event, of a Duplicate the one before; 0 where it is no head or regular event
	Why     *nip01.Refusal // for the client; nil for Stored, Replaced and Failed
	Err     error          // set for Failed only
}

// Message is Why as text, "" for none.
func (r Result) Message() string {
	if r.Why == nil {
		return ""
	}
	return r.Why.Error()
}

// PutOptions vary one Put.
type PutOptions struct {
	// Import says that the event comes from an import or a restore: neither the
	// lifecycle (NIP-TEMP) nor a quota is checked. Deletions and requests to
	// vanish still block it. It brings back what a rollback took away.
	Import bool
	// Replica says that the event comes from a relay which this one follows. It
	// is taken as an import is, but for four things: a quota that somebody has
	// configured holds; a version of a gated kind that is older than its head is
	// kept as history; an entry of contract memory is delivered to who listens
	// wherever it stands; and what a rollback took away stays away, for what was
	// rolled back here alone would be back with the next pass.
	Replica bool
	// Past, beside Replica, says that the event is superseded there. If its
	// author's signature says so here too, by a newer version or by a request to
	// delete one, it is no head here, and neither is what is older at its
	// address; if not, the newest version that is known is the head. Contract
	// memory, of which nothing that superseded it is kept back, finds its place
	// by itself.
	Past bool
	// Base makes the write a compare-and-set (NIP-AE): the event is stored
	// only if it becomes the head of its address and this one is the head
	// before, by id; the zero id stands for none. Otherwise the outcome is
	// Conflict. Only replaceable and addressable events have a base. nil asks
	// for no comparison.
	Base *[32]byte
	// Class is the class of the event by a table that CheckTable has let pass;
	// nil has the store class it.
	Class *gate.Class
	// Forward names further relays for which the outbox gets a contract event
	// in the very commit in which it is stored.
	Forward []string
	// KnownOnly says that the sender has guessed too many contract ids: a
	// contract event is then refused, whoever owns the contract, unless its
	// author has a part in it or made the id.
	KnownOnly bool
	// Vouched are owners whose attestations for the author came with the event
	// (NIP-OA): for an Admission.
	Vouched []string
}

// Admission decides what the lists say of a client's event, in the order of
// commands: nil lets it pass. Look-ups show what is stored at its place.
type Admission func(ev *nostr.Event, vouched []string, ask Admitting) (*nip01.Refusal, error)

// Admitting is what an Admission may ask of the store.
type Admitting interface {
	// Approved reports whether one of the owners' stored lists names the agent, and
	// Provisioned whether the operator had the key made for an agent; keys are
	// 64 lower-case hex digits.
	Approved(owners []string, agent string) (bool, error)
	Provisioned(key string) (bool, error)
}

// Committed is one event that became durable.
type Committed struct {
	Event *nostr.Event
	JSON  []byte // as stored; shared, not to be changed
	Seq   int64
	Class gate.Class
	Who   fairness.Who // who sent it; zero for imports and restores
}

// outcomes are the metric labels.
var outcomes = [...]string{
	Stored: "stored", Replaced: "replaced", Duplicate: "duplicate", Stale: "stale", Deleted: "deleted",
	Conflict: "conflict", Refused: "refused", Failed: "failed",
}

// String returns the outcome's metric label.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomes) {
		return "unknown"
	}
	return outcomes[o]
}

// OK reports whether the client is answered true, because this very event is
// stored.
func (o Outcome) OK() bool { return o == Stored || o == Replaced || o == Duplicate }

// Pending is an event on its way to disk.
type Pending interface {
	// Done is closed when the result is known.
	Done() <-chan struct{}
	// Wait returns the result as soon as it is known. There always is one, also
	// when the store closes.
	Wait() Result
}
