package relaytest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"
)

// The kinds the tests speak of.
const (
	KindNote     = 1
	KindDelete   = 5
	KindVanish   = 62
	KindWrap     = 1059
	KindAuth     = 22242
	KindHTTPAuth = 27235
	KindEntry    = 30090
	KindState    = 30091
	KindEngram   = 30174
)

// Sign returns the signed event of k. A nil tags list becomes an empty one.
func Sign(k Key, kind int, at int64, content string, tags ...nostr.Tag) *nostr.Event {
	ev := &nostr.Event{
		CreatedAt: nostr.Timestamp(at),
		Kind:      kind,
		Tags:      append(nostr.Tags{}, tags...),
		Content:   content,
	}
	if err := ev.Sign(k.Secret); err != nil {
		panic(fmt.Sprintf("relaytest: sign kind %d: %v", kind, err))
	}
	return ev
}

// Note returns a kind 1.
func Note(k Key, at int64, content string, tags ...nostr.Tag) *nostr.Event {
	return Sign(k, KindNote, at, content, tags...)
}

// conversations remembers the results of ConversationKey: under the race
// detector one costs milliseconds, and tests make thousands of engrams for a few
// pairs.
var conversations sync.Map // [2]string → [32]byte

// ConversationKey is NIP-44's key between one party's secret and the other's
// public key (NIP-AE: K_c).
func ConversationKey(me Key, other string) [32]byte {
	pair := [2]string{me.Secret, other}
	if ck, ok := conversations.Load(pair); ok {
		return ck.([32]byte)
	}
	ck, err := nip44.GenerateConversationKey(other, me.Secret)
	if err != nil {
		panic(fmt.Sprintf("relaytest: conversation key: %v", err))
	}
	conversations.Store(pair, ck)
	return ck
}

// Address returns the d tag of a slug for the pair (NIP-AE, Address).
func Address(agent Key, owner, slug string) string {
	ck := ConversationKey(agent, owner)
	mac := hmac.New(sha256.New, ck[:])
	mac.Write([]byte("agent-memory/v1/d-tag"))
	mac.Write([]byte{0})
	mac.Write([]byte(slug))
	return hex.EncodeToString(mac.Sum(nil))
}

// Engram returns a kind 30174 of agent for owner: slug "core" with value as the
// profile, or "mem/…" with value. A nil value is a tombstone. The NIP-44 nonce
// follows from the rest, so that the same call gives the same id.
func Engram(agent Key, owner, slug string, value *string, at int64, tags ...nostr.Tag) *nostr.Event {
	body := map[string]any{"slug": slug}
	if slug == "core" {
		body["profile"] = value
	} else {
		body["value"] = value
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("relaytest: engram body: %v", err))
	}
	content := Seal(agent, owner, string(text), slug, strconv.FormatInt(at, 10))
	all := append([]nostr.Tag{{"d", Address(agent, owner, slug)}, {"p", owner}}, tags...)
	return Sign(agent, KindEngram, at, content, all...)
}

// Memory is Engram with a plain value.
func Memory(agent Key, owner, slug, value string, at int64, tags ...nostr.Tag) *nostr.Event {
	return Engram(agent, owner, slug, &value, at, tags...)
}

// Seal encrypts text for other by NIP-44 v2. The nonce is the hash of text and
// salt: right for tests that must come out the same, wrong anywhere else.
func Seal(me Key, other, text string, salt ...string) string {
	sum := sha256.New()
	sum.Write([]byte(text))
	for _, s := range salt {
		sum.Write([]byte{0})
		sum.Write([]byte(s))
	}
	content, err := nip44.Encrypt(text, ConversationKey(me, other), nip44.WithCustomNonce(sum.Sum(nil)))
	if err != nil {
		panic(fmt.Sprintf("relaytest: seal: %v", err))
	}
	return content
}

// Open decrypts what Seal made, from either side.
func Open(me Key, other, content string) (string, error) {
	return nip44.Decrypt(content, ConversationKey(me, other))
}

// SizedEngram returns an engram whose NIP-44 body is of size bytes, 65,535 at
// most. The body is no valid memory: relays cannot see that.
func SizedEngram(agent Key, owner, d string, size int, at int64) *nostr.Event {
	text := make([]byte, size)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	return Sign(agent, KindEngram, at, Seal(agent, owner, string(text), d), nostr.Tag{"d", d}, nostr.Tag{"p", owner})
}

// Entry returns a plain kind 30090 of type typ.
func Entry(author Key, counterparty, contract, typ, text string, at int64, tags ...nostr.Tag) *nostr.Event {
	body, err := json.Marshal(map[string]string{"type": typ, "content": text})
	if err != nil {
		panic(fmt.Sprintf("relaytest: entry body: %v", err))
	}
	return Sign(author, KindEntry, at, string(body), entryTags(counterparty, contract, typ, tags)...)
}

// SealedEntry returns a kind 30090 that only the two parties can read.
func SealedEntry(author Key, counterparty, contract, typ, text string, at int64) *nostr.Event {
	body, err := json.Marshal(map[string]string{"type": typ, "content": text})
	if err != nil {
		panic(fmt.Sprintf("relaytest: entry body: %v", err))
	}
	return Sign(author, KindEntry, at, Seal(author, counterparty, string(body), contract), entryTags(counterparty, contract, typ, nil)...)
}

func entryTags(counterparty, contract, typ string, more []nostr.Tag) []nostr.Tag {
	return append([]nostr.Tag{{"d", contract}, {"t", typ}, {"p", counterparty}}, more...)
}

// State returns a kind 30091 that moves a contract from previous to status.
func State(author Key, counterparty, contract, status, previous string, at int64) *nostr.Event {
	body, err := json.Marshal(map[string]any{
		"contract_id": contract, "status": status, "previous_status": previous,
		"poster_agent_id": "poster", "worker_agent_id": "worker", "amount_sats": 1000,
		"description": "a test contract", "transition_at": time.Unix(at, 0).UTC().Format(time.RFC3339),
	})
	if err != nil {
		panic(fmt.Sprintf("relaytest: state body: %v", err))
	}
	return Sign(author, KindState, at, string(body), nostr.Tag{"d", contract}, nostr.Tag{"p", counterparty})
}

// Deletion returns a kind 5 with the given tags (e, a, k).
func Deletion(k Key, at int64, tags ...nostr.Tag) *nostr.Event {
	return Sign(k, KindDelete, at, "", tags...)
}

// Coordinate is the value of an a tag: kind:pubkey:d.
func Coordinate(kind int, pub, d string) string {
	return fmt.Sprintf("%d:%s:%s", kind, pub, d)
}

// AuthEvent returns the kind 22242 that answers challenge on the relay at url.
func AuthEvent(k Key, url, challenge string, at int64) *nostr.Event {
	return Sign(k, KindAuth, at, "", nostr.Tag{"relay", url}, nostr.Tag{"challenge", challenge})
}

// Attestation is the NIP-OA auth tag by which owner vouches for agent.
func Attestation(owner Key, agent, conditions string) nostr.Tag {
	secret, err := hex.DecodeString(owner.Secret)
	if err != nil {
		panic(fmt.Sprintf("relaytest: secret of a key: %v", err))
	}
	key, _ := btcec.PrivKeyFromBytes(secret)
	digest := sha256.Sum256([]byte("nostr:agent-auth:" + agent + ":" + conditions))
	sig, err := schnorr.Sign(key, digest[:])
	if err != nil {
		panic(fmt.Sprintf("relaytest: attestation: %v", err))
	}
	return nostr.Tag{"auth", owner.Pub, conditions, hex.EncodeToString(sig.Serialize())}
}

// HTTPAuth returns the Authorization header of NIP-98 for one request. The
// payload tag is left out when body is nil.
func HTTPAuth(k Key, method, url string, body []byte, at int64) string {
	return HTTPAuthWith(k, method, url, body, at)
}

// HTTPAuthWith is HTTPAuth with further tags, behind method.
func HTTPAuthWith(k Key, method, url string, body []byte, at int64, more ...nostr.Tag) string {
	tags := append([]nostr.Tag{{"u", url}, {"method", method}}, more...)
	if body != nil {
		sum := sha256.Sum256(body)
		tags = append(tags, nostr.Tag{"payload", hex.EncodeToString(sum[:])})
	}
	text, err := json.Marshal(Sign(k, KindHTTPAuth, at, "", tags...))
	if err != nil {
		panic(fmt.Sprintf("relaytest: encode NIP-98 event: %v", err))
	}
	return "Nostr " + base64.StdEncoding.EncodeToString(text)
}
