package contracts

import "context"

// API is what the transports call; *Service implements it. The id of a contract
// is text from outside: it need not exist or be well-formed. A refusal is an
// *Error; any other error is a failure.
type API interface {
	Create(ctx context.Context, c Caller, r CreateRequest) (Contract, error)
	List(ctx context.Context, c Caller, q ContractQuery) (ContractPage, error)
	Get(ctx context.Context, c Caller, id string) (Contract, error)
	Move(ctx context.Context, c Caller, id string, r MoveRequest) (Contract, error)
	Transitions(ctx context.Context, c Caller, id string, q TransitionQuery) (TransitionPage, error)

	Say(ctx context.Context, c Caller, id string, r EntryRequest) (Entry, error)
	Entries(ctx context.Context, c Caller, id string, q EntryQuery) (EntryPage, error)
	Entry(ctx context.Context, c Caller, id, entryID string) (Entry, error)
	Summary(ctx context.Context, c Caller, id string) (Summary, error)
	Order(ctx context.Context, c Caller, id string) (Order, error)
	Disclose(ctx context.Context, c Caller, id, entryID string) (Disclosure, error)
	Search(ctx context.Context, c Caller, id string, r SearchRequest) (SearchPage, error)

	// Provision, Identities and Forget are for the operator; Bind is for the
	// caller's own key, and Me returns the identity of it; Claim is for a
	// provisioned caller; Rotate and Void are for that caller and the operator.
	Provision(ctx context.Context, c Caller, agentID string) (Provisioned, error)
	Bind(ctx context.Context, c Caller, agentID, pubkey string) (Identity, error)
	Identity(ctx context.Context, agentID string) (Identity, error)
	Claim(ctx context.Context, c Caller, agentID string) (Claimed, error)
	Rotate(ctx context.Context, c Caller, agentID string) (Provisioned, error)
	Void(ctx context.Context, c Caller, agentID string) (Identity, error)
	Me(ctx context.Context, c Caller) (Identity, error)
	Identities(ctx context.Context, c Caller, limit, offset int) (IdentityPage, error)
	Forget(ctx context.Context, c Caller, agentID string, withKey bool) (Identity, error)
}
