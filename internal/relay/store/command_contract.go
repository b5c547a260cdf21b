package store

// AddAgent stores an identity and, where the relay keeps its key, the hash of
// its first token. Its answer is an Agent.
type AddAgent struct {
	Agent Agent
	Token [32]byte
}

// ReplaceToken makes a token, by its hash, the only one of an identity whose
// key is kept. The error is ErrNotHeld when there is none.
type ReplaceToken struct {
	ID   string
	Hash [32]byte
}

// DropTokens revokes all tokens of an identity whose key is kept. The error is
// ErrNotHeld when there is none.
type DropTokens struct{ ID string }

// ForgetKey wipes an identity's sealed key, if it is still this one, and its
// tokens; name and pubkey stay. The error is ErrNotHeld otherwise.
type ForgetKey struct {
	ID     string
	Sealed []byte
}

// DropAgent forgets an identity: its name is free again. The error is ErrNoAgent,
// or ErrKeyKept where a key would be lost without WithKey.
type DropAgent struct {
	ID      string
	WithKey bool
}

// SetVaultCheck remembers the master key's check value. Its answer is whether
// the value is new.
type SetVaultCheck struct{ Check []byte }

// SetRelayKey makes a key the relay's identity key.
type SetRelayKey struct {
	PubKey string
	Revoke bool
}

// RevokeRelayKey stops trusting a former key of the relay. Its answer is
// whether the key was a trusted one.
type RevokeRelayKey struct{ PubKey string }

// QueueEvent puts a signed event, as JSON, into the outbox for the targets, behind
// all that was put there before; one that is in it keeps its place. The error is
// ErrOutboxFull, which does not hold for this relay itself.
type QueueEvent struct {
	Event   []byte
	Targets []string
}

// OutboxDone takes events off a target's list, because the target has them. An
// event that no other target waits for is forgotten.
type OutboxDone struct {
	Target  string
	Numbers []int64
}

// OutboxForget takes events off a target's list up to a number, some at a time;
// a negative number means up to the last one. Its answer is a Forgotten.
type OutboxForget struct {
	Target string
	Until  int64
}

// Forgotten reports how many events OutboxForget took off the list, up to which
// number it will go, and whether there may be more.
type Forgotten struct {
	Events, Until int64
	More          bool
}

// OutboxWithdraw takes an event off all lists.
type OutboxWithdraw struct{ EventID string }

// OutboxKeep forgets everything that waits for other targets than these; this
// relay always is one.
type OutboxKeep struct{ Targets []string }

// OutboxRefused notes that a target refused an event.
type OutboxRefused struct {
	Target                    string
	EventID, Author, Contract string
	CreatedAt                 int64
	Reason                    string
	Final                     bool
}

// SetContractTerms records what was agreed through the API for a pair that has
// no terms yet.
type SetContractTerms struct {
	Contract, Poster, Worker string
	Terms                    ContractTerms
}

// DecideContract makes a move that no party makes, and records it. The error is
// ErrContractMoved if the pair is not in the state Decision.Was any more.
type DecideContract struct {
	Contract, Poster, Worker string
	Decision                 ContractDecision
}

// LookAtDeadline sets when a pair's deadline is checked again, 0 for never.
type LookAtDeadline struct {
	Contract, Poster, Worker string
	At                       int64
}

// AddPrivateEntry keeps a private entry, sealed in its Data, of which Author,
// Other, CreatedAt, Type and Entry are used. The error is ErrContractMoved in a
// final state, ErrEntryTaken, or ErrEntriesFull if its author has Most of them.
type AddPrivateEntry struct {
	Contract string
	Entry    ThreadEntry
	Most     int
}

// AddWaitingEntry keeps the signed event of a shared entry that the relay has not
// taken, until it does. One that is here already is no error.
type AddWaitingEntry struct {
	Contract string
	Entry    ThreadEntry
}

func (AddAgent) command()         {}
func (ReplaceToken) command()     {}
func (DropTokens) command()       {}
func (ForgetKey) command()        {}
func (DropAgent) command()        {}
func (SetVaultCheck) command()    {}
func (SetRelayKey) command()      {}
func (RevokeRelayKey) command()   {}
func (QueueEvent) command()       {}
func (OutboxDone) command()       {}
func (OutboxForget) command()     {}
func (OutboxWithdraw) command()   {}
func (OutboxKeep) command()       {}
func (OutboxRefused) command()    {}
func (SetContractTerms) command() {}
func (DecideContract) command()   {}
func (LookAtDeadline) command()   {}
func (AddPrivateEntry) command()  {}
func (AddWaitingEntry) command()  {}
