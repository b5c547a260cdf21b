package store

import (
	"errors"
	"strings"
)

var (
	// ErrNameTaken means that an agent id belongs to another key.
	ErrNameTaken = errors.New("the agent id is taken")
	// ErrKeyNamed means that a key has another agent id.
	ErrKeyNamed = errors.New("the key has an agent id")
	// ErrNotHeld means that there is no such identity, or that its key is not
	// kept here.
	ErrNotHeld = errors.New("no key is kept for this agent id")
	// ErrNoAgent means that there is no such identity.
	ErrNoAgent = errors.New("there is no such identity")
	// ErrKeyKept means that the relay keeps the key of an identity, which
	// nobody else has.
	ErrKeyKept = errors.New("a key is kept for this agent id")
	// ErrAgentsFull means that no further identity may be added.
	ErrAgentsFull = errors.New("too many identities")
)

// Agent is the identity of an agent: its name, its key, and the secret key
// while the relay keeps it.
type Agent struct {
	ID          string // agent id
	PubKey      string // 64 lower-case hex digits
	Sealed      []byte // secret key, sealed by the caller; nil when the agent has it
	Provisioned bool   // made by the operator; set by the store, and stays when the agent has taken its key
	Created     int64  // Unix seconds; given by the store
}

// Sealed is a value encrypted for its row: an agent's kept key, or a private
// entry of a contract.
type Sealed struct {
	Agent    *Agent // nil for an entry
	Contract string
	Entry    *ThreadEntry
	Value    []byte
}

// ErrOtherVault means that the database has values sealed with another master
// key.
var ErrOtherVault = errors.New("the database has what is sealed with another master key")

// RelayKey is one of the relay's identity keys, as the database knows them.
type RelayKey struct {
	PubKey  string // 64 lower-case hex digits
	Since   int64  // Unix seconds
	Until   int64  // when another took its place, Unix seconds; 0 for the one in use
	Revoked int64  // from when on its signatures are not trusted, Unix seconds; 0 while they are
}

// ErrRevokedKey means that a revoked key was to become the relay's key again.
var ErrRevokedKey = errors.New("this relay key was revoked")

// Names that people mistake for each other count as one name: they are compared
// in lower case, without punctuation, and with one character for those that
// look alike.
var alike = strings.NewReplacer(".", "", "_", "", "-", "", "0", "o", "1", "l", "i", "l")

// FoldName returns the form of an agent id that is compared. The migration
// "identities" does the same in SQL.
func FoldName(id string) string { return alike.Replace(strings.ToLower(id)) }
