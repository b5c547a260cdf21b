package policy

import (
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
)

// Bounds of what a policy remembers.
const (
	maxBudgets      = 1 << 17
	maxAttestations = 1 << 12
	maxVouched      = 1 << 12
	// maxKeptConditions is the length in bytes of the longest conditions of an
	// attestation that is remembered.
	maxKeptConditions = 256
)

// memory is what outlives one event, and one policy: the budgets of authors and
// of shares, and attestations whose signature was found good
// (one takes longer to check than the event it is on, and an agent sends the
// same on every event), and for whom owners have vouched so. Everything is bounded, and forgets what was not used
// for longest. An author or share that is forgotten starts with a full
// budget; to be forgotten it must have been idle while tens of thousands of
// others wrote.
type memory struct {
	rates    *fairness.Rates
	mu       sync.Mutex
	attested *fairness.Recent[attestation, struct{}]
	vouches  *fairness.Recent[voucher, string] // to the conditions
}

// voucher is an owner who has vouched for an agent.
type voucher struct{ owner, agent string }

func newMemory() *memory {
	return &memory{
		rates:    fairness.NewRates(maxBudgets),
		attested: fairness.NewRecent[attestation, struct{}](maxAttestations),
		vouches:  fairness.NewRecent[voucher, string](maxVouched),
	}
}

// attestationOn returns what vouches for the author of ev by the event's auth
// tag (NIP-OA): exactly one such tag, of exactly four elements;
// owner 64 and sig 128 lower-case hex digits, owner not the author; conditions
// that all hold for the event; and a Schnorr signature (BIP-340) by owner over
// the SHA-256 of "nostr:agent-auth:", author, ":", conditions. The event's own
// signature must have been checked. The error is ErrAttestation. Good
// signatures are remembered; conditions are judged anew, because they depend on
// the event.
func (m *memory) attestationOn(ev *nostr.Event) (attestation, error) {
	a, err := attestationOf(ev.PubKey, AuthTag(ev))
	if err == nil {
		err = a.conditionsHold(ev)
	}
	if err == nil {
		err = m.verify(a)
	}
	if err != nil {
		return attestation{}, err
	}
	return a, nil
}

// verify returns a.verify with the same memory.
func (m *memory) verify(a attestation) error {
	m.mu.Lock()
	_, ok := m.attested.Get(a)
	m.mu.Unlock()
	if ok {
		return nil
	}
	if err := a.verify(); err != nil || len(a.conditions) > maxKeptConditions {
		return err
	}
	m.mu.Lock()
	m.attested.Put(a.clone(), struct{}{})
	m.mu.Unlock()
	return nil
}
