package bundle

import (
	"context"
	"errors"
	"slices"
	"sync"

	"engramd/nips/nipae"
)

// Format is the name of the format, in the manifest and in its signature.
const Format = "engramd-snapshot-v1"

// Class says what an event is in the memory that a bundle holds.
type Class uint8

// The classes, in the order of their files in the bundle.
const (
	// Heads are the agent's engrams that count: kind 30174, one per address.
	Heads Class = iota
	// History is what heads superseded, of engrams and of contract memory.
	History
	// Deletions are the agent's requests of kinds 5 (NIP-09) and 62 (NIP-62), and
	// those of kind 5 by which others withdrew contract memory of its contracts.
	Deletions
	// Relays is the agent's relay list, kind 10002 (NIP-65).
	Relays
	// Contracts are heads of kinds 30090 and 30091, of the agent or naming it.
	Contracts
	classes = 5
)

var classNames = [classes]string{"heads", "history", "deletions", "relays", "contracts"}

// gone is the artifact of an incremental bundle that lists what is no more.
const gone = "gone"

// Classes returns all classes in the order of their files.
func Classes() []Class { return []Class{Heads, History, Deletions, Relays, Contracts} }

// String returns the class's name in the manifest, "heads" for example.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Path returns the name of the class's file in the bundle, "heads.jsonl" for
// example.
func (c Class) Path() string { return c.String() + ".jsonl" }

// isHead reports whether an address has one event of the class at most.
func (c Class) isHead() bool { return c == Heads || c == Relays || c == Contracts }

// Source gives the events of one agent at one instant. All calls on a Source
// see the same instant. What does not have the shape of its kind, as
// nipae.CheckEnvelope has it, must be left out: a bundle with it would not
// verify and is not written.
type Source interface {
	// Events gives yield the JSON object of every event of the class, in any
	// order, and stops with its error. yield does not keep the bytes.
	Events(ctx context.Context, class Class, yield func(eventJSON []byte) error) error
}

// artifactKinds returns the artifacts of a bundle in order.
func artifactKinds(incremental bool) []string {
	kinds := slices.Clone(classNames[:])
	if incremental {
		kinds = append(kinds, gone)
	}
	return kinds
}

// Keys gives the key under which an owner's engrams of an agent are encrypted;
// false if it has none for the pair. It may be called concurrently.
type Keys func(agent, owner string) (nipae.ConversationKey, bool)

// KeysOf returns the Keys of a party: secret is its secret key, self its public
// key, 64 hex digits each. As agent it reads everything it wrote, as owner what
// names it.
func KeysOf(secret, self string) (Keys, error) {
	if _, err := nipae.DeriveConversationKey(secret, self); err != nil {
		return nil, err
	}
	if CheckAgent(self) != nil {
		return nil, errors.New("a public key is 64 lower-case hex digits")
	}
	var mu sync.Mutex
	known := map[string]nipae.ConversationKey{}
	return func(agent, owner string) (nipae.ConversationKey, bool) {
		other := agent
		switch self {
		case agent:
			other = owner
		case owner:
		default:
			return nipae.ConversationKey{}, false
		}
		mu.Lock()
		defer mu.Unlock()
		if k, ok := known[other]; ok {
			return k, true
		}
		k, err := nipae.DeriveConversationKey(secret, other)
		if err != nil {
			return k, false
		}
		if len(known) < 1024 { // owners are the file's word
			known[other] = k
		}
		return k, true
	}, nil
}
