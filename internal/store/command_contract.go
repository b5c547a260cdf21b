package store

// AddAgent stores an identity and, where the relay keeps its key, the hash of
// its first token. It is answered with Agent.
type AddAgent struct {
	Agent Agent
	Token [32]byte
}

// ReplaceToken makes a token, by its hash, the only one of an identity whose
// key is kept.
type ReplaceToken struct {
	ID   string
	Hash [32]byte
}

// DropTokens makes the tokens of an identity whose key is kept worth nothing.
type DropTokens struct{ ID string }

// ForgetKey wipes a sealed key, if it is the one, and the identity's tokens.
type ForgetKey struct {
	ID     string
	Sealed []byte
}

// DropAgent forgets an identity.
type DropAgent struct {
	ID      string
	WithKey bool
}

// SetVaultCheck remembers the master key's check value. It is answered with
// whether it is a new one.
type SetVaultCheck struct{ Check []byte }

// SetRelayKey makes a key the relay's identity key.
type SetRelayKey struct {
	PubKey string
	Revoke bool
}

// RevokeRelayKey takes a former key out of the trusted ones. It is answered
// with whether it was one.
type RevokeRelayKey struct{ PubKey string }

// QueueEvent puts a signed event, as JSON, into the outbox for the targets.
type QueueEvent struct {
	Event   []byte
	Targets []string
}

// OutboxDone takes events off the list of a target: it has them.
type OutboxDone struct {
	Target  string
	Numbers []int64
}

// OutboxForget takes events off the list of a target up to a number, some at a
// time; negative is the last one there is. It is answered with Forgotten.
type OutboxForget struct {
	Target string
	Until  int64
}

// Forgotten says how many events OutboxForget took off the list, up to which
// number it goes, and whether there may be more.
type Forgotten struct {
	Events, Until int64
	More          bool
}

// OutboxWithdraw takes an event off all lists.
type OutboxWithdraw struct{ EventID string }

// OutboxKeep forgets what waits for targets that are not among these.
type OutboxKeep struct{ Targets []string }

// OutboxRefused notes that a target refused an event.
type OutboxRefused struct {
	Target                    string
	EventID, Author, Contract string
	CreatedAt                 int64
	Reason                    string
	Final                     bool
}

// SetContractTerms writes down what was agreed through the API on a pair that
// has no terms yet.
type SetContractTerms struct {
	Contract, Poster, Worker string
	Terms                    ContractTerms
}

// DecideContract makes a move that no party makes.
type DecideContract struct {
	Contract, Poster, Worker string
	Decision                 ContractDecision
}

// LookAtDeadline says when a pair's deadline is to be looked at again.
type LookAtDeadline struct {
	Contract, Poster, Worker string
	At                       int64
}

// AddPrivateEntry keeps a private entry, if its author has fewer than Most.
type AddPrivateEntry struct {
	Contract string
	Entry    ThreadEntry
	Most     int
}

// AddWaitingEntry keeps a shared entry that the relay has not taken.
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
