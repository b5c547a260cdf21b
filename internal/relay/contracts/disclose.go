package contracts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/nips/disclose"
)

// Disclosure is one sealed entry that a party opens to somebody else: its
// signed event, with the message keys of its payload (NIP-44), which open no
// other entry.
type Disclosure struct {
	Event json.RawMessage `json:"event"`
	Keys  string          `json:"keys"` // 152 hex digits
}

// Disclose returns the disclosure of a sealed entry to a party whose key the
// server holds. The party decides to whom to hand it.
func (th *threads) Disclose(ctx context.Context, c Caller, id, entryID string) (Disclosure, error) {
	if c.Nobody() {
		return Disclosure{}, errNobody()
	}
	v, t, err := th.reading(ctx, c, id, "")
	switch {
	case err != nil:
		return Disclosure{}, err
	case v.role == stranger:
		return Disclosure{}, errNotFound("entry")
	case !v.role.party():
		return Disclosure{}, Refuse(Forbidden, "only the poster and the worker open what they have sealed")
	case !c.Provisioned:
		return Disclosure{}, Refuse(Forbidden, "the server does not hold your key: engramctl contract disclose does it with yours")
	}
	row, err := th.store.ThreadEntry(ctx, t, entryID)
	if err != nil {
		return Disclosure{}, err
	}
	if row == nil {
		return Disclosure{}, errNotFound("entry")
	}
	if row.Form != store.EntrySealed {
		return Disclosure{}, Refuse(Conflict, "the entry is not sealed: there is nothing to disclose")
	}
	if err := c.spend(ctx); err != nil {
		return Disclosure{}, err
	}
	keys, err := th.messageKeys(ctx, v, row)
	return Disclosure{Event: row.Data, Keys: keys}, err
}

// messageKeys returns the message keys of a sealed entry, in hex.
func (th *threads) messageKeys(ctx context.Context, v *view, row *store.ThreadEntry) (string, error) {
	conversation, err := th.pub.signer.Conversation(ctx, v.caller.PubKey, v.across(row))
	if err != nil {
		return "", err
	}
	ev, err := wire.ParseEvent(row.Data)
	if err != nil {
		return "", err
	}
	keys, err := disclose.KeysOf(conversation, ev.Content)
	if err == nil {
		_, _, err = disclose.OpenEvent(ev, keys)
	}
	if err != nil {
		return "", Refuse(Conflict, "the entry does not open: it was not sealed between its author and you")
	}
	return keys.Hex(), nil
}

// Sealed is what an arbitrator sees of an entry that is sealed between the
// parties: enough to recognise it when one of them discloses it.
type Sealed struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // of the payload, in hex
}

// unread strips an entry down to what a reader may know for whom it was not
// sealed.
func (v *view) unread(e *Entry, row *store.ThreadEntry) {
	if row.Form != store.EntrySealed || v.role.party() {
		return
	}
	sum := sha256.Sum256([]byte(e.Content))
	e.Sealed = &Sealed{Bytes: len(e.Content), SHA256: hex.EncodeToString(sum[:])}
	e.Content, e.Attachments, e.NostrEventID, e.Event = "", []string{}, nil, nil
}
