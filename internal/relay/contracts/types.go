package contracts

import (
	"context"
	"encoding/json"
	"time"

	"engramd/nips/niptemp"
)

// Caller is the author of a request, as the transport has proved it; the zero
// value is nobody.
type Caller struct {
	PubKey      string // 64 lower-case hex digits, "" for nobody
	AgentID     string // the name bound to PubKey, "" for none: then it is PubKey
	Operator    bool
	Provisioned bool // the server holds the key and signs for it
	// Once uses up the proof of a change; nil where a proof is good for many
	// changes. The service calls it once it knows that the caller may make the
	// change, before making any of it.
	Once func(context.Context) error
}

// spend uses up the caller's proof.
func (c Caller) spend(ctx context.Context) error {
	if c.Once == nil {
		return nil
	}
	return c.Once(ctx)
}

// Nobody reports whether nothing was proved.
func (c Caller) Nobody() bool { return c.PubKey == "" && !c.Operator }

// Agent returns the caller's agent id, "" for nobody.
func (c Caller) Agent() string {
	if c.AgentID != "" {
		return c.AgentID
	}
	return c.PubKey
}

// Visibility says who may read an entry.
type Visibility string

// The visibilities of an entry.
const (
	Shared     Visibility = niptemp.VisibilityShared
	PosterOnly Visibility = "poster_only"
	WorkerOnly Visibility = "worker_only"
)

// Valid reports whether v is one of the three.
func (v Visibility) Valid() bool { return v == Shared || v == PosterOnly || v == WorkerOnly }

// Contract is one contract between its two parties. The fields of a worker or
// an arbitrator are null while none is named.
type Contract struct {
	ContractID string `json:"contract_id"`
	// Status is "" for a contract of which only entries are known; the author
	// of the first entry is then its poster.
	Status            niptemp.Status `json:"status"`
	PosterAgentID     string         `json:"poster_agent_id"`
	PosterNpub        string         `json:"poster_npub"`
	PosterPubKey      string         `json:"poster_pubkey"`
	WorkerAgentID     *string        `json:"worker_agent_id"`
	WorkerNpub        *string        `json:"worker_npub"`
	WorkerPubKey      *string        `json:"worker_pubkey"`
	ArbitratorAgentID *string        `json:"arbitrator_agent_id"`
	ArbitratorNpub    *string        `json:"arbitrator_npub"`
	AmountSats        int64          `json:"amount_sats"`
	Description       string         `json:"description"`
	Deadline          *time.Time     `json:"deadline"`
	// Offered is what the poster's open says about who decides; Agreed is what
	// the worker's acceptance has repeated of that, for ever.
	Offered   Terms     `json:"offered"`
	Agreed    Terms     `json:"agreed"`
	CreatedAt time.Time `json:"created_at"` // when the store first heard of it
	UpdatedAt time.Time `json:"updated_at"` // time of the move that led here
	// Unproven says that the contract was imported without its open: its state
	// is that of the newest event.
	Unproven bool `json:"unproven,omitempty"`
	// Decided says who made the last move if it was not a party; null
	// otherwise.
	Decided *Decision `json:"decided"`
}

// Decision is a move that no party made.
type Decision struct {
	By     string         `json:"by"` // "operator", "arbitrator" or "deadline"
	Status niptemp.Status `json:"status"`
	Note   string         `json:"note"`
	At     time.Time      `json:"at"`
	// NostrEventID names the signed event by which every relay can check it;
	// null for a decision that holds on this relay only.
	NostrEventID *string `json:"nostr_event_id"`
}

// Terms are who decides about a contract: keys in hex, null for none.
type Terms struct {
	Arbitrator *string    `json:"arbitrator"` // settles disputes, and reads the case
	Decider    *string    `json:"decider"`    // settles disputes: the operator of a relay
	Expirer    *string    `json:"expirer"`    // signs that the deadline is over: a relay
	Order      *string    `json:"order"`      // signs the order of arrival: a relay
	Deadline   *time.Time `json:"deadline"`
}

// CreateRequest offers a contract. The caller is its poster.
//
// A caller who holds their own key sends Event, the signed kind-30091 open. Its
// d tag is the contract id that they chose, a UUID v4, and it says what the
// request says: its tags name the arbitrator and the deadline of the request.
// ContractID may then be left out; without Event the server chooses it. The
// tags of Event name who else decides; in an event that the server signs, that
// is the relay itself.
type CreateRequest struct {
	ContractID        string          `json:"contract_id,omitempty"`
	PosterAgentID     string          `json:"poster_agent_id,omitempty"` // the caller's, or absent
	WorkerAgentID     string          `json:"worker_agent_id,omitempty"` // an agent id or a hex pubkey
	WorkerPubKey      string          `json:"worker_pubkey,omitempty"`   // in its place
	ArbitratorAgentID string          `json:"arbitrator_agent_id,omitempty"`
	Description       string          `json:"description"`
	AmountSats        int64           `json:"amount_sats"`
	Deadline          *time.Time      `json:"deadline,omitempty"`
	Event             json.RawMessage `json:"event,omitempty"`
}

// MoveRequest asks for a move. Event is the signed kind-30091 of a party, an
// agreed arbitrator or an agreed decider who holds their own key.
type MoveRequest struct {
	Status niptemp.Status  `json:"status"`
	Note   string          `json:"note,omitempty"`
	Event  json.RawMessage `json:"event,omitempty"`
}

// ContractQuery asks for the caller's contracts, newest first.
type ContractQuery struct {
	Status niptemp.Status // "" for all
	Limit  int            // 0 for 50, 500 at most
	Offset int
}

// ContractPage is one page of contracts.
type ContractPage struct {
	Contracts []Contract `json:"contracts"`
	Total     int        `json:"total"`
	Limit     int        `json:"limit"`
	Offset    int        `json:"offset"`
}

// Entry is one entry of a contract's memory.
type Entry struct {
	EntryID       string     `json:"entry_id"` // "mem_" and 12 lower-case hex digits
	ContractID    string     `json:"contract_id"`
	AuthorAgentID string     `json:"author_agent_id"`
	AuthorNpub    string     `json:"author_npub"`
	Type          string     `json:"type"`
	Visibility    Visibility `json:"visibility"`
	Content       string     `json:"content"` // as it is when Encrypted
	Attachments   []string   `json:"attachments"`
	NostrEventID  *string    `json:"nostr_event_id"` // null when private, or not in the relay yet
	CreatedAt     time.Time  `json:"created_at"`
	// ReceivedAt is when the server received it; CreatedAt is its author's
	// word.
	ReceivedAt time.Time `json:"received_at"`
	// N is its number in the order of arrival, for callers who may read the
	// whole thread. For a private entry it is the number after which it came,
	// and K its place among its author's private entries.
	N *int64 `json:"n,omitempty"`
	K int64  `json:"k,omitempty"`
	// Withdrawn says that its author withdrew it.
	Withdrawn *Withdrawal `json:"withdrawn,omitempty"`
	// Encrypted says that Content is a NIP-44 payload between the parties.
	Encrypted bool `json:"encrypted"`
	// Sealed takes the place of Content for the arbitrator.
	Sealed *Sealed `json:"sealed,omitempty"`
	// Opened says that Content and Attachments were decrypted with the caller's
	// key, which the server keeps.
	Opened bool `json:"opened,omitempty"`
	// Event is the signed event of a shared entry.
	Event json.RawMessage `json:"event,omitempty"`
	// Refusals tells the parties which relays did not take a shared entry.
	Refusals []RelayRefusal `json:"refusals,omitempty"`
}

// Withdrawal says when an author withdrew something, and by which deletion
// request.
type Withdrawal struct {
	At time.Time `json:"at"` // when the server was told
	// Event is the signed request (kind 5) if everything that it names belongs
	// to this contract; else, and in a list where requests are long, its id;
	// null if it is not known.
	Event json.RawMessage `json:"event"`
}

// Order is the order of arrival of a thread, signed by the relay.
type Order struct {
	ContractID string `json:"contract_id"`
	// Event is a kind-24174 event by the relay's identity key; its x tag is the
	// SHA-256 of Lines.
	Event json.RawMessage `json:"event"`
	// Lines has one line for each number: the number, when it was received
	// (Unix seconds) and the event's id, or - for a gap. It is left out if the
	// thread is very long.
	Lines string `json:"lines,omitempty"`
	Gaps  []Gap  `json:"gaps"`
	// Keys are the statements (kind 24174) by which former keys of the relay
	// named their successors, where the event is not by an agreed key.
	Keys []json.RawMessage `json:"keys,omitempty"`
}

// Gap is what remains of an event that had to be removed from a thread.
type Gap struct {
	N          int64     `json:"n"`
	ReceivedAt time.Time `json:"received_at"`
	Type       string    `json:"type"` // of the entry, or "state"
	Role       string    `json:"role"` // of its author, "" if it was not known
	// Only a state has these: where it led, from where, and its author's date.
	Status         niptemp.Status `json:"status,omitempty"`
	PreviousStatus niptemp.Status `json:"previous_status,omitempty"`
	CreatedAt      *time.Time     `json:"created_at,omitempty"`
}

// RelayRefusal says that a relay did not take an entry.
type RelayRefusal struct {
	Relay  string    `json:"relay"`  // a URL, or "this relay"
	Reason string    `json:"reason"` // a machine-readable word of NIP-01, as "blocked"
	At     time.Time `json:"at"`     // of the first refusal
	Final  bool      `json:"final"`  // it is not sent there again
}

// EntryRequest asks to write an entry. Event is the signed kind-30090 of a
// shared entry whose author holds their own key; private entries have none.
type EntryRequest struct {
	EntryID       string          `json:"entry_id,omitempty"`        // with Event: what its agentry:entry says
	AuthorAgentID string          `json:"author_agent_id,omitempty"` // the caller's, or absent
	Type          string          `json:"type"`
	Visibility    Visibility      `json:"visibility,omitempty"` // "" is shared
	Content       string          `json:"content"`
	Attachments   []string        `json:"attachments,omitempty"`
	Encrypted     bool            `json:"encrypted,omitempty"` // between the parties
	Event         json.RawMessage `json:"event,omitempty"`
}

// EntryQuery asks for entries in the order of arrival.
type EntryQuery struct {
	RequesterAgentID string     // the caller's, or ""
	Type             string     // "" for all
	Visibility       Visibility // "" for all the caller may see
	Author           string     // agent id or hex pubkey, "" for all
	Limit            int        // 0 for 50, 500 at most
	Offset           int
	Events           bool // give the signed events too
}

// EntryPage is one page of entries.
type EntryPage struct {
	ContractID string  `json:"contract_id"`
	Entries    []Entry `json:"entries"`
	Total      int     `json:"total"`
	Limit      int     `json:"limit"`
	Offset     int     `json:"offset"`
}

// Summary counts what the caller may see.
type Summary struct {
	ContractID     string         `json:"contract_id"`
	TotalEntries   int            `json:"total_entries"`
	ByType         map[string]int `json:"by_type"`
	ByAuthor       map[string]int `json:"by_author"` // by agent id
	ByVisibility   map[string]int `json:"by_visibility"`
	NostrPublished int            `json:"nostr_published"`
	DateRange      *DateRange     `json:"date_range"` // null without entries
	// TotalTransitions is how many moves there are, and Notes are the newest
	// ones with a note, oldest first.
	TotalTransitions int          `json:"total_transitions"`
	Notes            []Transition `json:"notes"`
}

// DateRange is the first and the last created_at.
type DateRange struct {
	Earliest time.Time `json:"earliest"`
	Latest   time.Time `json:"latest"`
}

// SearchRequest looks for entries that have every word of Query.
type SearchRequest struct {
	RequesterAgentID string `json:"requester_agent_id,omitempty"` // the caller's, or absent
	Query            string `json:"query"`
	After            string `json:"after,omitempty"` // Next of the page before
	Type             string `json:"type,omitempty"`
	Limit            int    `json:"limit,omitempty"`
	Offset           int    `json:"offset,omitempty"`
}

// SearchPage is one page of what a search found. Total counts what it found in
// the part of the thread that it searched, which is all of it unless it is
// long.
type SearchPage struct {
	EntryPage
	// Transitions are the moves whose notes have every word. They are searched
	// after the entries, and Total does not count them.
	Transitions []Transition `json:"transitions"`
	// Next, as After of the same request, goes on after that part; "" when
	// there is no more.
	Next string `json:"next,omitempty"`
}

// Identity is the public part of an agent's identity.
type Identity struct {
	AgentID     string    `json:"agent_id"`
	PubKey      string    `json:"pubkey"`
	Npub        string    `json:"npub"`
	Provisioned bool      `json:"provisioned"` // the server holds its key
	CreatedAt   time.Time `json:"created_at"`
}

// IdentityPage is one page of identities, in the order of their names.
type IdentityPage struct {
	Identities []Identity `json:"identities"`
	Total      int        `json:"total"`
	Limit      int        `json:"limit"`
	Offset     int        `json:"offset"`
}

// Provisioned is a new identity and its bearer token, which is shown once.
type Provisioned struct {
	Identity
	Token string `json:"token"`
}

// Claimed is a key that its agent takes away; the server forgets it.
type Claimed struct {
	Identity
	Nsec string `json:"nsec"`
}
