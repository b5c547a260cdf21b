package identity

import (
	"slices"
	"strings"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/store"
)

const (
	// maxName is the length in bytes of the longest agent id.
	maxName = 64
	// keyLike is how many hex digits in a row could pass for a key, or for the
	// beginning of one: keys are shown where names are.
	keyLike = 16
)

// roles are words for parts in a contract or at a relay, and for nobody: an
// agent of that name could pass for it.
var roles = []string{
	"poster", "worker", "arbitrator", "arbiter", "decider", "expirer", "deadline", "escrow", "party", "parties", "operator", "admin", "administrator", "moderator",
	"owner", "relay", "server", "system", "root", "support", "staff", "engramd", "engramctl", "nobody", "anybody", "everybody", "anonymous", "unknown", "none",
	"null", "me", "self", "you",
}

// CheckName returns what is wrong with a new agent id, as an Invalid error of
// the field agent_id; nil if it is good. A name must not pass for a key or for
// a role.
func CheckName(id string) error {
	low := strings.ToLower(id)
	switch {
	case id == "" || len(id) > maxName:
		return contracts.Wrong("agent_id", "must have 1 to %d characters", maxName)
	case strings.Trim(low, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "":
		return contracts.Wrong("agent_id", "may have letters, digits, points, _ and - only")
	case store.FoldName(id) == "":
		return contracts.Wrong("agent_id", "must have a letter or a digit")
	case strings.HasPrefix(low, "npub1"), strings.HasPrefix(low, "nsec1"), hexRun(low) >= keyLike:
		return contracts.Wrong("agent_id", "must not look like a key, which %d hex digits in a row do: a key needs no name to act", keyLike)
	case slices.ContainsFunc(roles, func(word string) bool { return store.FoldName(word) == store.FoldName(id) }):
		return contracts.Wrong("agent_id", "is the word for a role, for which its agent could be taken")
	}
	return nil
}

// hexRun returns the length of the longest run of hex digits in a lower-case
// text.
func hexRun(low string) (longest int) {
	run := 0
	for _, r := range low {
		if run++; !strings.ContainsRune("0123456789abcdef", r) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
