package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	experimental "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/client"
	"engramd/nips/disclose"
	"engramd/nips/niptemp"
)

const (
	kindEntry = niptemp.KindEntry
	kindState = niptemp.KindState
)

func validStatus(s string) bool { return niptemp.Status(s).Valid() }

// entryBody is the content of a 30090 event.
type entryBody struct {
	Type          string   `json:"type"`
	Content       string   `json:"content"`
	Visibility    string   `json:"visibility,omitempty"`
	ContractID    string   `json:"contract_id,omitempty"`
	EntryID       string   `json:"entry_id,omitempty"`
	AuthorAgentID string   `json:"author_agent_id,omitempty"`
	Attachments   []string `json:"attachments,omitempty"`
}

// stateBody is the content of a 30091 event. Deadline and note are members that
// NIP-TEMP does not name: they have no effect on relays, and are signed.
type stateBody struct {
	ContractID     string `json:"contract_id"`
	Status         string `json:"status"`
	PreviousStatus string `json:"previous_status,omitempty"`
	PosterAgentID  string `json:"poster_agent_id,omitempty"`
	WorkerAgentID  string `json:"worker_agent_id,omitempty"`
	AmountSats     int64  `json:"amount_sats"`
	Description    string `json:"description,omitempty"`
	Deadline       string `json:"deadline,omitempty"`
	Note           string `json:"note,omitempty"`
	TransitionAt   string `json:"transition_at,omitempty"`
}

// content returns a body as it is signed.
func content(body any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return "", fmt.Errorf("%w: it has no form in JSON", client.ErrInvalid)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// members is the content of an event by exact names, as package niptemp reads
// it: encoding/json would take "Content" for "content". Content that is no JSON
// object has no members.
type members map[string]jsontext.Value

func membersOf(content string) members {
	var m members
	if experimental.Unmarshal([]byte(content), &m) != nil {
		return nil
	}
	return m
}

// text returns a string member; "" for anything else.
func (m members) text(name string) string {
	var text string
	if v, ok := m[name]; !ok || v.Kind() != '"' || experimental.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}

func entryBodyOf(content string) entryBody {
	m := membersOf(content)
	b := entryBody{Type: m.text("type"), Content: m.text("content"), Visibility: m.text("visibility"), ContractID: m.text("contract_id"),
		EntryID: m.text("entry_id"), AuthorAgentID: m.text("author_agent_id")}
	if v, ok := m["attachments"]; ok && experimental.Unmarshal(v, &b.Attachments) != nil {
		b.Attachments = nil
	}
	return b
}

// entryOfEvent reads a verified 30090 event; false if its shape is not that of
// an entry.
func entryOfEvent(c *client.Client, ev *nostr.Event) (Entry, bool) {
	if niptemp.CheckEntry(ev) != nil {
		return Entry{}, false
	}
	if !niptemp.IsSealed(ev) {
		return entryWith(ev, ev.Content), true
	}
	text, committed, err := "", false, error(nil)
	keys, err := messageKeys(c, ev)
	if err == nil {
		text, committed, err = disclose.OpenEvent(ev, keys)
	}
	e := entryWith(ev, text)
	// What cannot be disclosed is no proof for its reader either.
	e.Committed = committed && niptemp.CheckOpened(ev, text, true) == nil
	if err != nil {
		e.Unreadable, e.Content = true, ""
	}
	return e, true
}

// EntryOf returns what a verified 30090 event says, as far as it is not sealed;
// false if it is none.
func EntryOf(ev *nostr.Event) (Entry, bool) {
	if niptemp.CheckEntry(ev) != nil {
		return Entry{}, false
	}
	e := entryWith(ev, ev.Content)
	if e.Sealed {
		e.Content, e.Unreadable = "", true
	}
	return e, true
}

// entryWith returns an entry of which text is the content, decrypted
// where it is sealed.
func entryWith(ev *nostr.Event, text string) Entry {
	e := Entry{Type: ev.Tags.Find("t").Value(), Visibility: VisibilityShared, CreatedAt: int64(ev.CreatedAt), EventID: ev.ID, Event: ev, Signature: SignatureHolds,
		Sealed: niptemp.IsSealed(ev)}
	body := entryBodyOf(text)
	if e.Sealed && body.Content == "" {
		body = entryBody{Content: text} // what is sealed need not be a JSON object
	}
	e.EntryID, e.Content, e.Attachments = cmp.Or(ev.Tags.Find("agentry:entry").Value(), body.EntryID), body.Content, body.Attachments
	if e.EntryID == "" {
		e.EntryID = "mem_" + ev.ID[:12]
	}
	e.Author = Party{cmp.Or(ev.Tags.Find("agentry:author").Value(), body.AuthorAgentID), ev.PubKey}
	return e
}

// entryKey returns the NIP-44 key between us and the other of an entry's two.
func entryKey(c *client.Client, ev *nostr.Event) ([32]byte, error) {
	other := ev.PubKey
	if other == c.Identity().PubKey() {
		other = ev.Tags.Find("p").Value()
	}
	return conversation(c, other)
}

// conversation returns the NIP-44 key between us and another.
func conversation(c *client.Client, other string) ([32]byte, error) {
	return client.Using(c.Identity(), func(secret string) ([32]byte, error) {
		key, err := nip44.GenerateConversationKey(other, secret)
		if err != nil {
			return key, client.ErrUnreadable
		}
		return key, nil
	})
}

// says reports whether an entry of the API says what its event says. Sealed
// ones are compared as they are.
func (w wireEntry) says(ev *nostr.Event, e Entry) bool {
	if PubKeyOf(w.AuthorNpub) != ev.PubKey || w.EntryID != e.EntryID || w.Type != e.Type || int64(w.CreatedAt) != e.CreatedAt {
		return false
	}
	if e.Sealed && !w.Opened {
		return w.Content == ev.Content
	}
	return w.Content == e.Content && slices.Equal(w.Attachments, e.Attachments)
}

// Move is one state event of a contract's pair.
type Move struct {
	From, To  string
	By        string // pubkey of its author
	Note      string
	CreatedAt int64
	ArrivedAt int64        // when the relay that keeps the contract took it, or else another; 0 where unknown
	N         int64        // as of an entry
	Withdrawn *Withdrawal  // nil if it was not, as far as is known; what it did stands
	Event     *nostr.Event // verified
	// Follows says that the move is allowed after those before it that were
	// seen; Why says why not.
	Follows bool
	Why     string
}

// describe sets what state events say besides the state: amount and description
// are the poster's word, the newest counts, and each party names itself. What
// the poster was not seen to say is taken from the worker.
func (c *Contract) describe(moves []Move) {
	said := map[string]niptemp.StateText{}
	for _, m := range moves {
		body, _ := niptemp.ReadState(m.Event) // it is one
		before := said[m.By]
		body.AmountSats = cmp.Or(body.AmountSats, before.AmountSats)
		body.Description = cmp.Or(body.Description, before.Description)
		body.PosterAgentID = cmp.Or(body.PosterAgentID, before.PosterAgentID)
		body.WorkerAgentID = cmp.Or(body.WorkerAgentID, before.WorkerAgentID)
		said[m.By] = body
		if c.CreatedAt == 0 {
			c.CreatedAt = m.CreatedAt
		}
	}
	poster, worker := said[c.Poster.PubKey], said[c.Worker.PubKey]
	c.AmountSats = cmp.Or(poster.AmountSats, worker.AmountSats)
	c.Description = cmp.Or(poster.Description, worker.Description)
	c.Poster.AgentID = cmp.Or(poster.PosterAgentID, worker.PosterAgentID)
	c.Worker.AgentID = cmp.Or(worker.WorkerAgentID, poster.WorkerAgentID)
}
