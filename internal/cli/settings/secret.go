package settings

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"
	"github.com/nbd-wtf/go-nostr/nip49"

	"engramd/internal/agent/view"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/platform/pattern"
)

// No error in this file repeats what it was given: it may be a secret.

var errPassword = errors.New("the password is wrong, or the encrypted key is damaged")

// ParseSecret reads a secret key as people keep it: nsec or hex, which gives 64
// lower-case hex digits, or ncryptsec (NIP-49), which is checked and given back
// as encrypted.
func ParseSecret(text string) (secret, encrypted string, err error) {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text)
	switch {
	case text == "":
		return "", "", errors.New("there is no key in it")
	case strings.HasPrefix(lower, "npub1"):
		return "", "", errors.New("this is a public key: the secret one begins with nsec1")
	case strings.HasPrefix(lower, "ncryptsec1"):
		return "", lower, checkEncrypted(lower)
	case strings.HasPrefix(lower, "nsec1"):
		prefix, value, err := nip19.Decode(lower)
		secret, ok := value.(string)
		if err != nil || !ok || prefix != "nsec" {
			return "", "", errors.New("this nsec is damaged: a character is missing or mistyped")
		}
		return secret, "", nil
	}
	if raw, err := hex.DecodeString(lower); err == nil && len(raw) == 32 {
		return lower, "", nil
	}
	return "", "", errors.New("want one secret key and nothing else: nsec1…, ncryptsec1… or 64 hex digits")
}

// Sizes of NIP-49: the payload, and the greatest cost that is tried (2^22
// rounds take 4 GiB of memory).
const (
	encryptedSize = 91
	maxKeyCost    = 22
	keyCost       = 16
)

// checkEncrypted looks at an ncryptsec's shape, so that what decrypts it can
// neither fail to index it nor be made to take all memory.
func checkEncrypted(text string) error {
	prefix, five, err := bech32.DecodeNoLimit(text)
	if err != nil || prefix != "ncryptsec" {
		return errors.New("this ncryptsec is damaged: a character is missing or mistyped")
	}
	payload, err := bech32.ConvertBits(five, 5, 8, false)
	switch {
	case err != nil || len(payload) != encryptedSize:
		return errors.New("this ncryptsec has the wrong length")
	case payload[0] != 2:
		return fmt.Errorf("this ncryptsec is of version %d, and only 2 is known", payload[0])
	case payload[1] > maxKeyCost:
		return fmt.Errorf("this ncryptsec asks for 2^%d rounds of scrypt, more than 2^%d", payload[1], maxKeyCost)
	}
	return nil
}

// Decrypt opens what checkEncrypted passed.
func Decrypt(encrypted, password string) (secret string, err error) {
	secret, err = nip49.Decrypt(encrypted, password)
	if err != nil || len(secret) != 64 {
		return "", errPassword
	}
	return secret, nil
}

// Encrypt makes an ncryptsec; history is what it says of the key's past.
func Encrypt(secret, password string, cost uint8, history nip49.KeySecurityByte) (string, error) {
	text, err := nip49.Encrypt(secret, password, cmp.Or(cost, keyCost), history)
	if err != nil {
		return "", errors.New("the key could not be encrypted")
	}
	return text, nil
}

// EncodeSecret writes a secret key as nsec.
func EncodeSecret(secret string) (string, error) {
	text, err := nip19.EncodePrivateKey(secret)
	if err != nil {
		return "", client.ErrIdentity
	}
	return text, nil
}

var secretText = pattern.Later(`(?i)n(?:crypt)?sec1[02-9ac-hj-np-z]+`)

// Redact takes secret keys out of a text: somebody who puts one on the command
// line should not find it in a log as well.
func Redact(text string) string { return secretText().ReplaceAllString(text, "[secret key]") }

// PublicKey reads a public key: npub, nprofile or hex. An empty one stays
// empty.
func PublicKey(what, where, text string) (string, error) {
	lower := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "nostr:")
	switch {
	case lower == "":
		return "", nil
	case strings.HasPrefix(lower, "nsec1"), strings.HasPrefix(lower, "ncryptsec1"):
		return "", exit.Usagef("%s in %s: this is a secret key, and it has been seen by others now; a public one begins with npub1", what, where)
	case strings.HasPrefix(lower, "npub1"):
		prefix, value, err := nip19.Decode(lower)
		key, ok := value.(string)
		if err != nil || !ok || prefix != "npub" {
			return "", exit.Usagef("%s in %s: this npub is damaged: a character is missing or mistyped", what, where)
		}
		return key, nil
	case strings.HasPrefix(lower, "nprofile1"):
		_, value, err := nip19.Decode(lower)
		profile, ok := value.(nostr.ProfilePointer)
		if err != nil || !ok || !nostr.IsValid32ByteHex(profile.PublicKey) {
			return "", exit.Usagef("%s in %s: this nprofile is damaged: a character is missing or mistyped", what, where)
		}
		return profile.PublicKey, nil
	}
	if raw, err := hex.DecodeString(lower); err == nil && len(raw) == 32 {
		return lower, nil
	}
	return "", exit.Usagef("%s in %s: want a public key, npub1… or 64 hex digits", what, where)
}

// Npub writes a public key for people.
var Npub = view.Npub

// NewKey makes a key. It returns it as nsec or, under a password, as ncryptsec.
func NewKey(password string, cost uint8) (id client.Identity, text string, err error) {
	secret := nostr.GeneratePrivateKey()
	if id, err = client.NewIdentity(secret); err != nil {
		return id, "", errors.New("no key could be made")
	}
	if password == "" {
		text, err = EncodeSecret(secret)
	} else if text, err = Encrypt(secret, password, cost, nip49.NotKnownToHaveBeenHandledInsecurely); err != nil {
		err = exit.BadUsage(err)
	}
	return id, text, err
}
