package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
)

// ErrAttestation is what every error of AttestedOwner is.
var ErrAttestation = errors.New("no valid owner attestation")

// attestation is a NIP-OA auth tag: ["auth", owner, conditions, sig].
type attestation struct {
	agent, owner, conditions, sig string
}

// AttestedOwner returns the pubkey that vouches for the author of ev by the
// event's auth tag (NIP-OA): exactly one such tag, of exactly four elements;
// owner 64 and sig 128 lower-case hex digits, owner not the author himself;
// conditions that all hold for the event; and a Schnorr signature (BIP-340) by
// owner over the SHA-256 of "nostr:agent-auth:", author, ":", conditions. The
// event's own signature must have been checked. The error is ErrAttestation.
func AttestedOwner(ev *nostr.Event) (owner string, err error) {
	a, err := readAttestation(ev)
	if err != nil {
		return "", err
	}
	if err := a.verify(); err != nil {
		return "", err
	}
	return a.owner, nil
}

// readAttestation judges all of the auth tag but its signature.
func readAttestation(ev *nostr.Event) (attestation, error) {
	var found nostr.Tag
	n := 0
	for _, tag := range ev.Tags {
		if len(tag) > 0 && tag[0] == "auth" {
			found = tag
			n++
		}
	}
	if n != 1 || len(found) != 4 {
		return attestation{}, fmt.Errorf("%w: one auth tag of four elements is needed", ErrAttestation)
	}
	a := attestation{agent: ev.PubKey, owner: found[1], conditions: found[2], sig: found[3]}
	switch {
	case !nostr.IsValid32ByteHex(a.owner):
		return attestation{}, fmt.Errorf("%w: the owner is not a pubkey in lower-case hex", ErrAttestation)
	case a.owner == a.agent:
		return attestation{}, fmt.Errorf("%w: a key does not attest itself", ErrAttestation)
	case len(a.sig) != 128 || strings.Trim(a.sig, "0123456789abcdef") != "":
		return attestation{}, fmt.Errorf("%w: the signature is not 128 lower-case hex digits", ErrAttestation)
	}
	if a.conditions == "" {
		return a, nil
	}
	for clause := range strings.SplitSeq(a.conditions, "&") {
		holds, err := clauseHolds(clause, ev)
		if err != nil {
			return attestation{}, err
		}
		if !holds {
			return attestation{}, fmt.Errorf("%w: a condition does not hold for this event", ErrAttestation)
		}
	}
	return a, nil
}

// clauseHolds judges one condition: kind=N, created_at<N or created_at>N with
// N in canonical decimal.
func clauseHolds(clause string, ev *nostr.Event) (bool, error) {
	bad := fmt.Errorf("%w: a condition is malformed", ErrAttestation)
	name, digits := clause, ""
	if i := strings.IndexAny(clause, "=<>"); i >= 0 {
		name, digits = clause[:i+1], clause[i+1:]
	}
	limit := uint64(1<<32 - 1)
	if name == "kind=" {
		limit = 65535
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > limit || strconv.FormatUint(n, 10) != digits {
		return false, bad
	}
	switch name {
	case "kind=":
		return ev.Kind == int(n), nil
	case "created_at<":
		return int64(ev.CreatedAt) < int64(n), nil
	case "created_at>":
		return int64(ev.CreatedAt) > int64(n), nil
	default:
		return false, bad
	}
}

// verify checks the signature. Owner and signature are hex of the right length.
func (a attestation) verify() error {
	refused := fmt.Errorf("%w: the signature is not the owner's", ErrAttestation)
	key, err := hex.DecodeString(a.owner)
	if err != nil {
		return refused
	}
	pubkey, err := schnorr.ParsePubKey(key)
	if err != nil {
		return refused
	}
	raw, err := hex.DecodeString(a.sig)
	if err != nil {
		return refused
	}
	sig, err := schnorr.ParseSignature(raw)
	if err != nil {
		return refused
	}
	digest := sha256.Sum256([]byte("nostr:agent-auth:" + a.agent + ":" + a.conditions))
	if !sig.Verify(digest[:], pubkey) {
		return refused
	}
	return nil
}
