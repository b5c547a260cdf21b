package policy

import (
	"strings"
	"sync"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/time/rate"
)

// Bounds of what a policy remembers.
const (
	maxBuckets      = 1 << 16
	maxAttestations = 1 << 12
	// maxKeptConditions is the length in bytes of the longest conditions of an
	// attestation that is remembered.
	maxKeptConditions = 256
)

// memory is what outlives one event, and one policy: the token buckets of
// authors and of addresses, and attestations whose signature was found good
// (one takes longer to check than the event it is on, and an agent sends the
// same on every event). Everything is bounded, and forgets what was not used
// for longest. An author or address that is forgotten starts with a full
// bucket; to be forgotten it must have been idle while 65,536 others wrote.
type memory struct {
	mu       sync.Mutex
	keys     *recent[string, *rate.Limiter]
	addrs    *recent[string, *rate.Limiter]
	attested *recent[attestation, struct{}]
}

func newMemory() *memory {
	return &memory{
		keys:     newRecent[string, *rate.Limiter](maxBuckets),
		addrs:    newRecent[string, *rate.Limiter](maxBuckets),
		attested: newRecent[attestation, struct{}](maxAttestations),
	}
}

// attestedOwner is AttestedOwner with a memory for good signatures. Conditions
// are judged anew: they depend on the event.
func (m *memory) attestedOwner(ev *nostr.Event) (owner string, ok bool) {
	a, err := readAttestation(ev)
	if err != nil {
		return "", false
	}
	m.mu.Lock()
	_, known := m.attested.get(a)
	m.mu.Unlock()
	if known {
		return a.owner, true
	}
	if a.verify() != nil {
		return "", false
	}
	if len(a.conditions) > maxKeptConditions {
		return a.owner, true
	}
	// Strings of an event are parts of its frame and would keep it alive.
	kept := attestation{
		agent: strings.Clone(a.agent), owner: strings.Clone(a.owner),
		conditions: strings.Clone(a.conditions), sig: strings.Clone(a.sig),
	}
	m.mu.Lock()
	m.attested.put(kept, struct{}{})
	m.mu.Unlock()
	return a.owner, true
}
