// Package contract keeps contract memory (NIP-TEMP): it reads the thread of a
// contract from events and from the API of relays, and moves it on.
package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
	"engramd/nips/niptemp"
)

// Contracts is contract memory (NIP-TEMP) in the hands of one key: a poster, a
// worker, or somebody who was given a contract's id.
//
// It has two sources, which it unites. One is the events themselves, kinds
// 30090 and 30091, which every relay has; superseded ones come from GET
// /history, which is for parties. The other is the HTTP API of engramd
// (/api/escrow/…), which has private entries, names of agents and the order
// of arrival besides. Every relay is asked for both, and one without the API is no
// failure. A change goes to the API of the first relay that has the contract (a
// new one: of the first that has an API), and what is signed to all other
// relays as events; without any API, to all as events.
type Contracts struct {
	c      *client.Client
	poster string // in hex: only the contract that this key has opened is meant
}

// Of returns contract memory in the hands of a client's identity.
func Of(c *client.Client) *Contracts { return &Contracts{c: c} }

// By means, of several contracts under one id, that of a poster: the one that
// is found by the id may be another's. "" means any.
func (cs *Contracts) By(poster string) *Contracts { return &Contracts{c: cs.c, poster: poster} }

// PubKey returns the key that asks, in hex: it signs itself, or the relay does
// that keeps it, for a token. Then it is "" before the first answer.
func (cs *Contracts) PubKey() string { return cs.c.HTTP().Me() }

// What contract operations fail with besides the errors of other operations.
var (
	// ErrAmbiguous means that several pairs of keys have a contract of that id.
	ErrAmbiguous = errors.New("several pairs of keys have a contract of this id")
)

// Party is one side of a contract.
type Party struct {
	AgentID string // a label, "" if unknown; it proves nothing
	PubKey  string // hex, "" if nobody is named yet
}

// Contract is where one contract stands between one pair of keys. Times are
// Unix seconds, 0 where unknown.
type Contract struct {
	ID                         string
	Status                     string
	Poster, Worker, Arbitrator Party
	AmountSats                 int64
	Description                string
	Deadline                   int64
	CreatedAt, UpdatedAt       int64
	// Offered is what the poster's newest open says of who decides, Agreed what
	// the worker's acceptance has repeated: of events that were seen, else by
	// the API's word.
	Offered, Agreed niptemp.Terms
	// Stateless says that no state of it is known, only entries: then Poster is
	// who spoke first, and Status is "".
	Stateless bool
	// Unproven says that the offer that it began with is not known: the state is
	// that of the newest move.
	Unproven bool
	// Decided is by whom the last move was made if it was no party: "operator",
	// "arbitrator" or "deadline", with a note; there need be no event of it.
	Decided, DecidedNote string
	// DecidedEvent is the id of the event that says it; "" where it holds on the
	// relay Home only.
	DecidedEvent string
	// Home is the URL of the relay whose API has the contract; "" if it is known
	// from events only.
	Home string
}

// Role returns what a key is in the contract: "poster", "worker", "arbitrator",
// "decider", "expirer", "party" if it is one of the two and which is not known,
// or "".
func (c Contract) Role(pubkey string) string {
	if c.Stateless && c.party(pubkey) {
		return "party"
	}
	switch pubkey {
	case "":
		return ""
	case c.Poster.PubKey:
		return "poster"
	case c.Worker.PubKey:
		return "worker"
	case c.Arbitrator.PubKey, c.Agreed.Arbitrator:
		return "arbitrator"
	case c.Agreed.Decider:
		return "decider"
	case c.Agreed.Expirer, c.Offered.Expirer:
		return "expirer"
	}
	return ""
}

// party reports whether a key is the poster or the worker.
func (c Contract) party(pubkey string) bool {
	return pubkey != "" && (pubkey == c.Poster.PubKey || pubkey == c.Worker.PubKey)
}

// other returns the p tag of what a key signs: its counterparty, or the poster
// while nobody else is named.
func (c Contract) other(pubkey string) string {
	if pubkey == c.Poster.PubKey && c.Worker.PubKey != "" {
		return c.Worker.PubKey
	}
	return c.Poster.PubKey
}

// agentID returns the label of a key, the key itself if it has none.
func (c Contract) agentID(pubkey string) string {
	for _, p := range []Party{c.Poster, c.Worker, c.Arbitrator} {
		if p.PubKey == pubkey && p.AgentID != "" {
			return p.AgentID
		}
	}
	return pubkey
}

// Visibilities of an entry. Private is that of the caller's own side.
const (
	VisibilityShared  = "shared"
	VisibilityPoster  = "poster_only"
	VisibilityWorker  = "worker_only"
	VisibilityPrivate = "private"
)

// Signature is what is known of an entry's signature.
type Signature string

// What may be known of an entry's signature.
const (
	// SignatureHolds: the event was seen, its id and signature are right, and it
	// says what the entry says.
	SignatureHolds Signature = "holds"
	// SignatureDiffers: the event was seen, and the API said something else than
	// was signed. The entry has what was signed.
	SignatureDiffers Signature = "differs"
	// SignatureUnseen: the API has the entry, and no relay showed its event.
	SignatureUnseen Signature = "unseen"
	// SignatureNone: the entry is private, and private entries are never signed.
	SignatureNone Signature = "none"
)

// Entry is one entry of a thread. Times are Unix seconds.
type Entry struct {
	EntryID     string // "mem_" and 12 hex digits
	Author      Party
	Type        string
	Visibility  string
	Content     string
	Attachments []string
	CreatedAt   int64 // by its author's word, if it is signed
	ArrivedAt   int64 // when the relay took it; 0 where unknown
	// N is its number in the order of arrival at the relay that keeps the
	// contract; of a private entry the number after which it came, and K which
	// one of its side it is. 0 where that relay does not have it, or does not
	// tell.
	N, K      int64
	Withdrawn *Withdrawal // nil for what stands
	EventID   string
	Event     *nostr.Event // verified; nil if none was seen
	Signature Signature
	// Sealed says that the event's content is encrypted between the parties;
	// Content is the decrypted text, or "" with Unreadable.
	Sealed, Unreadable bool
	// Committed says that the author's signature covers the message keys that open
	// it, so that it has no other text.
	Committed bool
	// ByRelay says that the text of a sealed entry is the relay's word: it opened
	// it with the key that it keeps for the caller. No signature of that was seen.
	ByRelay bool
	// Payload is what a relay says of a sealed entry that it does not show, as
	// to the arbitrator; nil of all others.
	Payload *SealedPayload

	rank int64 // where the relay that keeps the contract lists it, from 1 on
}

// Verdict says of a sealed entry that was opened whether this is the one text
// that its author's signature allows, or who says so.
func (e Entry) Verdict() string {
	switch {
	case e.ByRelay:
		return "opened by the relay"
	case e.Committed:
		return "opened, committed"
	}
	return "opened, not committed"
}

// SealedPayload is enough of a payload to know it again by.
type SealedPayload struct {
	Bytes  int64
	SHA256 string // in hex
}

// PubKeyOf reads a public key, npub or 64 lower-case hex digits, as hex; "" if
// it is none.
func PubKeyOf(text string) string {
	if nostr.IsValid32ByteHex(text) {
		return text
	}
	if prefix, value, err := nip19.Decode(text); err == nil && prefix == "npub" {
		if key, ok := value.(string); ok && nostr.IsValid32ByteHex(key) {
			return key
		}
	}
	return ""
}

// moment is a time of the API: RFC 3339, or Unix seconds, or null.
type moment int64

// UnmarshalJSON reads either form.
func (m *moment) UnmarshalJSON(b []byte) error {
	var text string
	switch {
	case string(b) == "null":
		return nil
	case json.Unmarshal(b, &text) == nil:
		if text == "" {
			return nil
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return fmt.Errorf("%w: a time is not in RFC 3339", client.ErrMisbehaved)
		}
		*m = moment(at.Unix())
		return nil
	}
	return json.Unmarshal(b, (*int64)(m))
}

// rfc3339 returns a time as the API and events have it; "" for 0.
func rfc3339(unix int64) string {
	if unix == 0 {
		return ""
	}
	return time.Unix(unix, 0).UTC().Format(time.RFC3339)
}

// checkContractID wants what a d tag of NIP-TEMP may hold.
func checkContractID(id string) error {
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%w: contract_id: want 1 to 128 printable ASCII characters without spaces", client.ErrInvalid)
	}
	return nil
}
