package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/schnorr"
)

// ErrAttestation is what every error about an attestation is.
var ErrAttestation = errors.New("no valid owner attestation")

// unattested says why an attestation does not count, for its sender to read. It
// is an ErrAttestation.
type unattested string

func (u unattested) Error() string { return ErrAttestation.Error() + ": " + string(u) }

func (unattested) Is(target error) bool { return target == ErrAttestation }

const (
	oneTagNeeded   unattested = "one auth tag of four elements is needed"
	notTheOwners   unattested = "the signature is not the owner's for this author"
	conditionFails unattested = "a condition does not hold for this event"
	badCondition   unattested = "a condition is malformed"
)

// attestation is a NIP-OA auth tag: ["auth", owner, conditions, sig].
type attestation struct {
	agent, owner, conditions, sig string
}

// AuthTag returns the event's auth tag; one that attests nothing, "auth" alone,
// when there are several (NIP-OA), and nil when there is none.
func AuthTag(ev *nostr.Event) nostr.Tag {
	var found nostr.Tag
	for _, tag := range ev.Tags {
		if len(tag) == 0 || tag[0] != "auth" {
			continue
		}
		if found != nil {
			return nostr.Tag{"auth"}
		}
		found = tag
	}
	return found
}

// attestationOf judges the shape of an auth tag that is to attest agent.
func attestationOf(agent string, tag nostr.Tag) (attestation, error) {
	if len(tag) != 4 || tag[0] != "auth" {
		return attestation{}, oneTagNeeded
	}
	a := attestation{agent: agent, owner: tag[1], conditions: tag[2], sig: tag[3]}
	switch {
	case !nostr.IsValid32ByteHex(a.owner):
		return attestation{}, unattested("the owner is not a pubkey in lower-case hex")
	case a.owner == a.agent:
		return attestation{}, unattested("a key does not attest itself")
	case len(a.sig) != 128 || strings.Trim(a.sig, "0123456789abcdef") != "":
		return attestation{}, unattested("the signature is not 128 lower-case hex digits")
	}
	return a, nil
}

// conditionsHold judges the conditions on one event.
func (a attestation) conditionsHold(ev *nostr.Event) error {
	if a.conditions == "" {
		return nil
	}
	for clause := range strings.SplitSeq(a.conditions, "&") {
		holds, err := clauseHolds(clause, ev)
		if err != nil {
			return err
		}
		if !holds {
			return conditionFails
		}
	}
	return nil
}

// clauseHolds judges one condition: kind=N, created_at<N or created_at>N with
// N in canonical decimal.
func clauseHolds(clause string, ev *nostr.Event) (bool, error) {
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
		return false, badCondition
	}
	switch name {
	case "kind=":
		return ev.Kind == int(n), nil
	case "created_at<":
		return int64(ev.CreatedAt) < int64(n), nil
	case "created_at>":
		return int64(ev.CreatedAt) > int64(n), nil
	default:
		return false, badCondition
	}
}

// clone keeps an attestation: strings of an event are parts of its frame and
// would keep it alive.
func (a attestation) clone() attestation {
	return attestation{
		agent: strings.Clone(a.agent), owner: strings.Clone(a.owner),
		conditions: strings.Clone(a.conditions), sig: strings.Clone(a.sig),
	}
}

// verify checks the signature. Owner and signature are hex of the right length.
func (a attestation) verify() error {
	var key [32]byte
	var sig [64]byte
	_, errKey := hex.Decode(key[:], []byte(a.owner))
	_, errSig := hex.Decode(sig[:], []byte(a.sig))
	digest := sha256.Sum256([]byte("nostr:agent-auth:" + a.agent + ":" + a.conditions))
	if errKey != nil || errSig != nil || !(*schnorr.Keys)(nil).Verify(&key, &digest, &sig) {
		return notTheOwners
	}
	return nil
}
