package nipae

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// CommitTag names the tag by which the author of a sealed event commits to the
// message keys of its payload: SHA-256 of the 76 bytes, in hex. NIP-44's cipher
// does not bind its key, so without the tag a signed payload can be made to open
// as two texts.
const CommitTag = "commit"

// MessageKeysSize is how many bytes message keys have: 32 of ChaCha20's key, 12
// of its nonce, 32 of the MAC's key.
const MessageKeysSize = 76

// MessageKeys makes the message keys of NIP-44 for one nonce: HKDF-expand.
func MessageKeys(conversation [32]byte, nonce []byte) (keys [MessageKeysSize]byte, err error) {
	expanded, err := hkdf.Expand(sha256.New, conversation[:], string(nonce), MessageKeysSize)
	if err != nil {
		return keys, fmt.Errorf("message keys: %w", err)
	}
	return [MessageKeysSize]byte(expanded), nil
}

// Commitment returns the tag that commits to message keys.
func Commitment(keys [MessageKeysSize]byte) nostr.Tag {
	sum := sha256.Sum256(keys[:])
	return nostr.Tag{CommitTag, hex.EncodeToString(sum[:])}
}

// Commit returns the tag for the payload of a conversation that has this nonce.
func Commit(conversation [32]byte, nonce []byte) (nostr.Tag, error) {
	keys, err := MessageKeys(conversation, nonce)
	return Commitment(keys), err
}
