package rig

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// Event lets tables name events without the import.
type Event nostr.Event

func (e *Event) Nostr() *nostr.Event { return (*nostr.Event)(e) }

// Signed is relaytest.Sign for tables.
func Signed(k relaytest.Key, kind int, at int64, content string, tags ...nostr.Tag) *Event {
	return (*Event)(relaytest.Sign(k, kind, at, content, tags...))
}

// RawEvent builds an event from JSON text of its parts, hashes exactly that
// text and signs the hash: what a client sends that serializes in its own way.
// It returns the id and the event object.
func RawEvent(t *testing.T, k relaytest.Key, createdAt, kind, tags, content string) (id, object string) {
	t.Helper()
	sum := sha256.Sum256(fmt.Appendf(nil, `[0,"%s",%s,%s,%s,"%s"]`, k.Pub, createdAt, kind, tags, content))
	id = hex.EncodeToString(sum[:])
	object = fmt.Sprintf(`{"id":"%s","pubkey":"%s","created_at":%s,"kind":%s,"tags":%s,"content":"%s","sig":"%s"}`,
		id, k.Pub, createdAt, kind, tags, content, signHash(t, k, sum))
	return id, object
}

// PublishRaw sends an event object and returns the answer to its id. What is
// not JSON at all may be answered with a NOTICE, which counts as a refusal.
func (p *Peer) PublishRaw(id, object string) relaytest.OK {
	p.T.Helper()
	p.Raw(`["EVENT",` + object + `]`)
	f, err := p.Wait(func(f relaytest.Frame) bool { return f.Label == "NOTICE" || relaytest.OKFor(id)(f) })
	if err != nil {
		p.T.Fatalf("answer to %.200s: %v", object, err)
	}
	if f.Label == "NOTICE" {
		return relaytest.OK{ID: id, Message: f.Text(0), At: f.At}
	}
	return f.OK()
}

// signHash signs a hash that no well-formed event needs to have.
func signHash(t *testing.T, k relaytest.Key, hash [32]byte) string {
	t.Helper()
	secret, err := hex.DecodeString(k.Secret)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := btcec.PrivKeyFromBytes(secret)
	sig, err := schnorr.Sign(key, hash[:], schnorr.FastSign())
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	return hex.EncodeToString(sig.Serialize())
}

// BrokenHTTPAuth is a NIP-98 header for POST / whose event was changed after
// signing.
func BrokenHTTPAuth(t *testing.T, relay *relaytest.Child, k relaytest.Key, change func(*Event)) string {
	t.Helper()
	ev := Signed(k, relaytest.KindHTTPAuth, Now(), "", Tag("u", relay.HTTP("/query")), Tag("method", "POST"))
	change(ev)
	text, err := json.Marshal(ev.Nostr())
	if err != nil {
		t.Fatal(err)
	}
	return "Nostr " + base64.StdEncoding.EncodeToString(text)
}
