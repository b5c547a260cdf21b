package nipae

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// ProposalPrefix begins the slug of a proposal: an engram in the reversed pair,
// whose author is the proposer and whose p tag names the agent. What follows it
// is the proposal's id.
const ProposalPrefix = memoryPrefix + "proposals/"

// AnswerPrefix begins the slug of the answer to a proposal, in the agent's pair
// with the proposer. Its address is any engram's.
const AnswerPrefix = memoryPrefix + "proposals-answers/"

const proposalDomain = "engramd/proposal/v1"

// ProposalAddress returns the d of a proposal: lower-case hex of SHA-256 over
// "engramd/proposal/v1", a zero byte, the proposer's and the agent's public keys
// (32 bytes each) and the id in ASCII. It does not depend on the pair's
// conversation key, which signers of NIP-07 and NIP-46 never give away. The id is
// 32 lower-case hex digits; the errors are ErrKey and ErrSlug. Who owns himself
// writes his memory and cannot propose anything to it: that is ErrKey too.
//
// testdata/vectors/proposal-address.json has vectors.
func ProposalAddress(proposer, agent, id string) (string, error) {
	h := sha256.New()
	io.WriteString(h, proposalDomain)
	h.Write([]byte{0})
	for _, key := range []string{proposer, agent} {
		raw, err := hex.DecodeString(key)
		if err != nil || !isHex32(key) {
			return "", fmt.Errorf("%w: a public key is 64 lower-case hex digits", ErrKey)
		}
		h.Write(raw)
	}
	if proposer == agent {
		return "", fmt.Errorf("%w: who owns himself cannot propose", ErrKey)
	}
	if !IsProposalID(id) {
		return "", fmt.Errorf("%w: the id of a proposal is 32 lower-case hex digits", ErrSlug)
	}
	io.WriteString(h, id)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// IsProposalID reports whether s is 32 lower-case hex digits.
func IsProposalID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// IsExchange reports whether a slug is that of a proposal or of an answer to
// one. They are no memory: of the pair in which an owner writes to his agent,
// nothing else is to be shown, and it counts as remembering nothing.
func IsExchange(s Slug) bool {
	return strings.HasPrefix(string(s), ProposalPrefix) || strings.HasPrefix(string(s), AnswerPrefix)
}

// AddressIn returns the d at which an author keeps a slug for another key: that
// of ProposalAddress for a proposal, and k's for every other slug. For the same
// key there is no proposal, and the slug is one like any other.
func AddressIn(k ConversationKey, author, other string, s Slug) string {
	if id, ok := strings.CutPrefix(string(s), ProposalPrefix); ok {
		if d, err := ProposalAddress(author, other, id); err == nil {
			return d
		}
	}
	return k.Address(s)
}
