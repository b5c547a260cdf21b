package mcp

import (
	"fmt"
	"strings"

	"engramd/internal/client"
	"engramd/nips/frontmatter"
)

// The codes by which a program can tell failures apart.
const (
	CodeInvalid     = "invalid_arguments" // the arguments make no sense
	CodeNotFound    = "not_found"         // every relay answered and none has it
	CodeRemoved     = "removed"           // every relay answered, and it was deleted
	CodePartial     = "partial"           // nothing, or perhaps not the newest, was found, and not every relay answered
	CodeUnreadable  = "unreadable"        // something is there, but it cannot be read
	CodeBehind      = "behind"            // no relay shows it, and it may have been written
	CodeConflict    = "conflict"          // the stored version is not the one that the change was made for
	CodeClock       = "clock"             // the stored version is dated too far in the future
	CodeUnconfirmed = "unconfirmed"       // it may or may not be stored
	CodeUnreachable = "unreachable"       // no relay answered
	CodeKeyRefused  = "key_refused"       // the relays refuse the key
	CodeRefused     = "refused"           // the relays refuse the request
	CodeTooLarge    = "too_large"         // the text does not fit
	CodeEmpty       = "empty"             // the text is empty
	CodeSecret      = "secret"            // something in the text looks like a key or a token
	CodePlaceholder = "placeholder"       // a line of the text stands for text left out
	CodeMatch       = "no_single_match"   // what is to be replaced stands nowhere, or several times
	CodeReserved    = "reserved"          // the slug is a program's own
	CodeClaim       = "claim"             // the text says more of itself than it may
	CodeCore        = "core_protected"    // the core cannot be deleted
	CodeNoAPI       = "no_api"            // no relay has the contract API, which this needs
	CodeReadOnly    = "read_only"         // an owner cannot write
	CodeBusy        = "busy"              // too many calls or writes at once
	CodeCancelled   = "cancelled"         // the call was given up before anything was asked or written
	CodeInternal    = "internal"          // a fault of the server
)

// failureKey is the key of a Failure in the _meta of a failed call, and in the
// data of an error.
const failureKey = "engramd/failure"

// Failure says why a call failed, in words that an agent can act on.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"` // what happened
	Action  string `json:"action"`  // what to do; "" where the message says it
	Slug    string `json:"slug,omitempty"`
	// Operation is the one of a plan that was refused, counted from 1, and Plan the
	// one that has begun.
	Operation int    `json:"operation,omitempty"`
	Plan      string `json:"plan,omitempty"`
	// Theirs is the stored version, for a conflict, if it is known.
	Theirs *theirs `json:"theirs,omitempty"`
	// Relays says what went wrong at each relay.
	Relays []string `json:"relays,omitempty"`

	exact bool // Message is all that an agent reads
	cause error
}

// theirs is another version than the one that was expected.
type theirs struct {
	Hash      string `json:"hash,omitempty"`
	Deleted   bool   `json:"deleted,omitempty"`
	Size      int    `json:"size"`
	UpdatedAt string `json:"updated_at"`
	ID        string `json:"id"`
}

// Error returns the text that an agent reads.
func (f *Failure) Error() string {
	if f.exact {
		return f.Message
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.Code, f.Message)
	if t := f.Theirs; t != nil {
		if t.Deleted {
			fmt.Fprintf(&b, "\nThe version there: deleted at %s.", t.UpdatedAt)
		} else {
			fmt.Fprintf(&b, "\nThe version there: hash %s, %d bytes, written at %s.", t.Hash, t.Size, t.UpdatedAt)
		}
	}
	fmt.Fprintf(&b, "\nWhat to do: %s", f.Action)
	for i, r := range f.Relays {
		if i == 0 {
			b.WriteString("\nRelays:")
		}
		fmt.Fprintf(&b, "\n- %s", r)
	}
	return b.String()
}

// Unwrap gives errors.Is the cause.
func (f *Failure) Unwrap() error { return f.cause }

func invalidf(format string, args ...any) *Failure {
	return &Failure{Code: CodeInvalid, Message: fmt.Sprintf(format, args...), Action: "Correct the arguments and call again."}
}

func theirsOf(e *client.Entry) *theirs {
	if e == nil {
		return nil
	}
	return &theirs{Hash: e.Hash, Deleted: e.Tombstone, Size: e.Size, UpdatedAt: stamp(e.CreatedAt), ID: e.ID}
}

// quoted turns words from elsewhere into one short line in quotes, which cannot
// be mistaken for the server's own.
func quoted(s string) string {
	const most = 200
	s = strings.ReplaceAll(frontmatter.OneLine(strings.ToValidUTF8(s, "\uFFFD")), `"`, "'")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + strings.TrimSpace(s) + `"`
}
