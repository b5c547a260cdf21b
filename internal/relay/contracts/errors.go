package contracts

import (
	"context"
	"errors"
	"fmt"
)

// Code is the class of an Error; the transport maps it to a status.
type Code int

// The classes of errors, with the HTTP status each stands for.
const (
	Invalid         Code = iota + 1 // 400, Fields says which
	Unauthenticated                 // 401
	Forbidden                       // 403
	NotFound                        // 404
	Conflict                        // 409
	TooLarge                        // 413
	RateLimited                     // 429
	Unavailable                     // 503
)

// Error is a refusal for the caller. Its texts name roles and fields, never
// keys or contents.
type Error struct {
	Code    Code
	Message string
	Fields  map[string]string // Invalid: field name to what is wrong with it
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// CodeOf returns the class of err; 0 for a failure, which is not a refusal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Refuse returns an Error, for this package and those that implement its
// interfaces.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrong returns the Invalid error of one field.
func Wrong(field, format string, args ...any) *Error {
	what := fmt.Sprintf(format, args...)
	return &Error{Code: Invalid, Message: field + ": " + what, Fields: map[string]string{field: what}}
}

// errNotFound returns the same error for what does not exist and for what the
// caller may not know of.
func errNotFound(what string) *Error { return Refuse(NotFound, "there is no such %s", what) }

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
