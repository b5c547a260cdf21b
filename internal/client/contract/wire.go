package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/niptemp"
)

// wireContract is a contract as the API has it.
type wireContract struct {
	ContractID        string `json:"contract_id"`
	Status            string `json:"status"`
	PosterAgentID     string `json:"poster_agent_id"`
	PosterPubKey      string `json:"poster_pubkey"`
	PosterNpub        string `json:"poster_npub"`
	WorkerAgentID     string `json:"worker_agent_id"`
	WorkerPubKey      string `json:"worker_pubkey"`
	WorkerNpub        string `json:"worker_npub"`
	ArbitratorAgentID string `json:"arbitrator_agent_id"`
	ArbitratorNpub    string `json:"arbitrator_npub"`
	AmountSats        int64  `json:"amount_sats"`
	Description       string `json:"description"`
	Deadline          moment `json:"deadline"`
	CreatedAt         moment `json:"created_at"`
	UpdatedAt         moment `json:"updated_at"`
	Unproven          bool   `json:"unproven"`
	Decided           *struct {
		By           string `json:"by"`
		Note         string `json:"note"`
		NostrEventID string `json:"nostr_event_id"`
	} `json:"decided"`
	Offered wireTerms `json:"offered"`
	Agreed  wireTerms `json:"agreed"`
}

// wireTerms are who decides, as the API has it.
type wireTerms struct {
	Arbitrator string `json:"arbitrator"`
	Decider    string `json:"decider"`
	Expirer    string `json:"expirer"`
	Order      string `json:"order"`
	Deadline   moment `json:"deadline"`
}

func (w wireTerms) terms() niptemp.Terms {
	return niptemp.Terms{Arbitrator: PubKeyOf(w.Arbitrator), Decider: PubKeyOf(w.Decider), Expirer: PubKeyOf(w.Expirer), Order: PubKeyOf(w.Order), Deadline: int64(w.Deadline)}
}

// contract returns what it says, if it is one: a relay must not make a contract
// of something else.
func (w wireContract) contract(home string) (Contract, error) {
	key := func(texts ...string) string {
		for _, text := range texts {
			if k := PubKeyOf(text); k != "" {
				return k
			}
		}
		return ""
	}
	c := Contract{ID: w.ContractID, Status: w.Status, AmountSats: w.AmountSats, Description: w.Description, Unproven: w.Unproven, Home: home,
		Deadline: int64(w.Deadline), CreatedAt: int64(w.CreatedAt), UpdatedAt: int64(w.UpdatedAt),
		Poster:     Party{w.PosterAgentID, key(w.PosterPubKey, w.PosterNpub, w.PosterAgentID)},
		Worker:     Party{w.WorkerAgentID, key(w.WorkerPubKey, w.WorkerNpub, w.WorkerAgentID)},
		Arbitrator: Party{w.ArbitratorAgentID, key(w.ArbitratorNpub, w.ArbitratorAgentID)},
	}
	if w.Decided != nil {
		c.Decided, c.DecidedNote, c.DecidedEvent = w.Decided.By, w.Decided.Note, w.Decided.NostrEventID
	}
	c.Offered, c.Agreed = w.Offered.terms(), w.Agreed.terms()
	c.Stateless = c.Status == ""
	if checkContractID(c.ID) != nil || c.Poster.PubKey == "" || !c.Stateless && !validStatus(c.Status) {
		return Contract{}, fmt.Errorf("%w: what it calls a contract is none", client.ErrMisbehaved)
	}
	return c, nil
}

// wireEntry is an entry as the API has it.
type wireEntry struct {
	EntryID       string          `json:"entry_id"`
	ContractID    string          `json:"contract_id"`
	AuthorAgentID string          `json:"author_agent_id"`
	AuthorNpub    string          `json:"author_npub"`
	Type          string          `json:"type"`
	Visibility    string          `json:"visibility"`
	Content       string          `json:"content"`
	Attachments   []string        `json:"attachments"`
	NostrEventID  string          `json:"nostr_event_id"`
	CreatedAt     moment          `json:"created_at"`
	ReceivedAt    moment          `json:"received_at"`
	N             int64           `json:"n"`
	K             int64           `json:"k"`
	Withdrawn     *wireWithdrawal `json:"withdrawn"`
	Encrypted     bool            `json:"encrypted"`
	Opened        bool            `json:"opened"`
	Event         json.RawMessage `json:"event"`
	Sealed        *struct {
		Bytes  int64  `json:"bytes"`
		SHA256 string `json:"sha256"`
	} `json:"sealed"`
}

// entry returns what it says, without its event.
func (w wireEntry) entry() Entry {
	e := Entry{EntryID: w.EntryID, Author: Party{w.AuthorAgentID, PubKeyOf(w.AuthorNpub)}, Type: w.Type, Visibility: w.Visibility,
		Content: w.Content, Attachments: w.Attachments, CreatedAt: int64(w.CreatedAt), ArrivedAt: int64(w.ReceivedAt),
		EventID: w.NostrEventID, Sealed: w.Encrypted, Signature: SignatureUnseen, N: max(0, w.N), K: max(0, w.K), Withdrawn: w.Withdrawn.withdrawal()}
	if w.Visibility == VisibilityPoster || w.Visibility == VisibilityWorker {
		e.Signature, e.EventID = SignatureNone, ""
	}
	if w.Sealed != nil && nostr.IsValid32ByteHex(w.Sealed.SHA256) && w.Sealed.Bytes > 0 {
		e.Payload = &SealedPayload{Bytes: w.Sealed.Bytes, SHA256: w.Sealed.SHA256}
	}
	return e
}

// apiThread is what one relay's API has of a contract.
type apiThread struct {
	status   client.RelayStatus
	has      bool // the relay has an API
	contract *Contract
	entries  []wireEntry
	moves    []wireMove
}

// apiContract asks one relay's API for a contract. ErrNoAPI is no failure: has
// is false then. Nor is it one that the API does not have the contract.
func apiContract(ctx context.Context, c *client.Client, t client.Target, id, poster string) apiThread {
	a := apiThread{status: client.RelayStatus{URL: t.URL, Complete: true}, has: true}
	var w wireContract
	err := c.HTTP().API(ctx, t, client.Call{Path: contractPath(id), Query: byPoster(poster)}, &w)
	var contract Contract
	switch {
	case err == nil:
		if contract, err = w.contract(t.URL); err == nil && contract.ID != id {
			err = fmt.Errorf("%w: it answered with another contract", client.ErrMisbehaved)
		}
		if err == nil && !contract.Stateless { // of which entries tell as much
			a.contract = &contract
		}
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrNoAPI), errors.Is(err, client.ErrInvalid):
		// Relays without the API have nothing at this path either.
		err = probe(ctx, c, t)
	case errors.Is(err, client.ErrAuth):
		err = nil // there is an API, and it tells this key nothing
	}
	if errors.Is(err, client.ErrNoAPI) {
		a.has, err = false, nil
	}
	if err != nil {
		a.status.Err, a.status.Complete = err, false
	}
	return a
}

// apiEntries adds all entries of a contract that the API shows.
func apiEntries(ctx context.Context, c *client.Client, t client.Target, id, poster string, a *apiThread) {
	query := byPoster(poster)
	query.Set("events", "true")
	entries, complete, err := listAll[wireEntry](ctx, c, t, contractPath(id, "memory"), query, "entries", maxContractThings, nil)
	a.entries = entries
	if a.contract == nil && (errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrAuth) || errors.Is(err, client.ErrInvalid)) {
		return // neither is there for this key
	}
	a.status.Events = len(a.entries)
	if err != nil || !complete {
		a.status.Err, a.status.Complete = err, false
	}
}

// signed returns the event of an entry, verified; nil if there is none that is
// right.
func (w wireEntry) signed(col *client.Collector, id string) *nostr.Event {
	ev := signed(col, w.Event, kindEntry, id)
	if ev == nil || !strings.EqualFold(ev.ID, w.NostrEventID) && w.NostrEventID != "" {
		return nil
	}
	return ev
}
