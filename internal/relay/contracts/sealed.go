package contracts

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/relay/store"
	"engramd/nips/disclose"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// maxSealed is how many bytes NIP-44 can encrypt.
const maxSealed = 1<<16 - 1

// unlock fetches the keys for the sealed entries among rows, for a caller whose
// key the server keeps, so that opening them in a turn waits for nothing.
// Without a master key they stay closed.
func (th *threads) unlock(ctx context.Context, v *view, rows []store.ThreadEntry) error {
	if !v.caller.Provisioned || !v.role.party() {
		return nil
	}
	for i := range rows {
		other := v.across(&rows[i])
		if _, ok := v.keys[other]; ok || rows[i].Form != store.EntrySealed {
			continue
		}
		key, err := th.pub.signer.Conversation(ctx, v.caller.PubKey, other)
		if CodeOf(err) == Unavailable {
			return nil
		}
		if err != nil {
			return err
		}
		if v.keys == nil {
			v.keys = map[string][32]byte{}
		}
		v.keys[other] = key
	}
	return nil
}

// across returns the other party of an entry that the caller wrote or received.
func (v *view) across(row *store.ThreadEntry) string {
	if row.Author == v.caller.PubKey {
		return row.Other
	}
	return row.Author
}

// unsealed returns what a sealed entry says, if it is unlocked and opens. Its
// content need not be an entry; then it is a text without attachments.
func (v *view) unsealed(row *store.ThreadEntry, ev *nostr.Event) (content string, attachments []string, ok bool) {
	key, ok := v.keys[v.across(row)]
	if !ok {
		return "", nil, false
	}
	keys, err := disclose.KeysOf(key, ev.Content)
	if err != nil {
		return "", nil, false
	}
	text, _, err := disclose.OpenEvent(ev, keys)
	if err != nil {
		return "", nil, false
	}
	plain := *ev
	plain.Content = text
	if said, err := niptemp.ReadEntry(&plain); err == nil && !said.Sealed {
		return said.Content, said.Attachments, true
	}
	return text, nil, true
}

// sealFor encrypts the content of an entry's event between the caller, whose key
// the server keeps, and the other party, and commits to its message keys.
func (pb *publisher) sealFor(ctx context.Context, v *view, ev *nostr.Event) error {
	to := v.other()
	if to == v.caller.PubKey {
		return Wrong("encrypted", "nobody is named yet for whom it could be encrypted")
	}
	if len(ev.Content) > maxSealed {
		return Refuse(TooLarge, "an encrypted entry has more than %d bytes, what JSON escapes counted", maxSealed)
	}
	key, err := pb.signer.Conversation(ctx, v.caller.PubKey, to)
	if err != nil {
		return err
	}
	nonce, err := pb.random(32)
	if err != nil {
		return err
	}
	payload, err := nip44.Encrypt(ev.Content, key, nip44.WithCustomNonce(nonce))
	if err != nil {
		return fmt.Errorf("encrypt an entry: %w", err)
	}
	tag, err := nipae.Commit(key, nonce)
	if err != nil {
		return err
	}
	ev.Content, ev.Tags = payload, append(ev.Tags, tag)
	return nil
}

// privateText is the sealed content of a private entry's row.
type privateText struct {
	Content     string   `json:"content"`
	Attachments []string `json:"attachments,omitempty"`
}

// seal encrypts a private entry and binds it to its place: in another row, or
// with another author, time or type, it does not open.
func (s *Service) seal(contract string, row *store.ThreadEntry, content string, attachments []string) ([]byte, error) {
	text, err := json.Marshal(privateText{content, attachments})
	if err != nil {
		return nil, fmt.Errorf("private entry: %w", err)
	}
	return s.directory.sealer.Seal(text, PlaceOf(contract, row))
}

// unseal is the inverse of seal.
func (th *threads) unseal(contract string, row *store.ThreadEntry) (privateText, error) {
	var out privateText
	text, err := th.sealer.Open(row.Data, PlaceOf(contract, row))
	if err != nil {
		return out, fmt.Errorf("private entry: %w", err)
	}
	if json.Unmarshal(text, &out) != nil {
		return out, fmt.Errorf("private entry: the sealed text is not an entry") // no cause: it would quote the text
	}
	return out, nil
}

// PlaceOf returns the identity of a private entry's row. None of its parts
// contains a line feed.
func PlaceOf(contract string, row *store.ThreadEntry) []byte {
	return []byte(strings.Join([]string{
		"engramd private entry 1", contract, row.Author, row.Other, row.Entry, row.Type, strconv.FormatInt(row.CreatedAt, 10),
	}, "\n"))
}
