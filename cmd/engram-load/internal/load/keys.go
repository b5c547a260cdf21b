package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// Key is a key pair of the load generator. Secrets follow from a seed that is
// no secret: nothing of value may be signed with them.
type Key struct {
	secret string
	Pub    string // 64 lower-case hex digits
}

// NewKey is key number n of a role under a seed, the same for ever.
func NewKey(seed uint64, role string, n int) (Key, error) {
	b := binary.BigEndian.AppendUint64([]byte("engram-load key "+role+" "), seed)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(n)))
	k := Key{secret: hex.EncodeToString(sum[:])}
	pub, err := nostr.GetPublicKey(k.secret)
	if err != nil {
		return Key{}, fmt.Errorf("key %s %d: %w", role, n, err)
	}
	k.Pub = pub
	return k, nil
}

// newKeys are keys 0 to n-1 of a role.
func newKeys(seed uint64, role string, n int) ([]Key, error) {
	keys := make([]Key, n)
	for i := range keys {
		var err error
		if keys[i], err = NewKey(seed, role, i); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// Sign sets pubkey, id and signature.
func (k Key) Sign(ev *nostr.Event) error {
	if err := ev.Sign(k.secret); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return nil
}

// Format implements fmt.Formatter; it shows the public half only.
func (k Key) Format(f fmt.State, _ rune) { io.WriteString(f, k.Pub) }

// Agent is an agent with its owner. Its engrams are the slugs slugOf(0) to
// slugOf(Engrams-1).
type Agent struct {
	Key
	Owner   Key
	Engrams int // in the corpus
	convo   nipae.ConversationKey
}

// newAgent returns the agent of two keys.
func newAgent(key, owner Key) (Agent, error) {
	convo, err := nipae.DeriveConversationKey(key.secret, owner.Pub)
	if err != nil {
		return Agent{}, fmt.Errorf("agent: %w", err)
	}
	return Agent{Key: key, Owner: owner, convo: convo}, nil
}

// Address returns the d tag of the agent's engram number n.
func (a Agent) Address(n int) string { return a.convo.Address(slugOf(n)) }

func slugOf(n int) nipae.Slug { return nipae.Slug(fmt.Sprintf("mem/load/%07d", n)) }
