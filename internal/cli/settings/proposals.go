package settings

import (
	"fmt"
	"maps"
	"slices"

	"engramd/internal/memory/proposals"
)

// proposalsFile is what a profile says of proposals.
type proposalsFile struct {
	// Owner is ask or accept: whether the owner's are accepted unasked.
	Owner string `toml:"owner"`
	// From are other agents whose proposals are read, and what this one calls them;
	// "" is the first digits of the key.
	From map[string]string `toml:"from"`
}

// What becomes of the owner's proposals.
const (
	ownerAsk    = "ask"
	ownerAccept = "accept"
)

// proposalRules are proposalsFile, understood.
type proposalRules struct {
	Accept bool // the owner's are accepted at the start of a server
	Listed []proposals.Listed
}

// rules reads what a profile says. The errors name the key of the file.
func (f proposalsFile) rules(where string) (r proposalRules, err error) {
	switch f.Owner {
	case "", ownerAsk:
	case ownerAccept:
		r.Accept = true
	default:
		return r, fmt.Errorf("proposals.owner: %q is none of %s, %s", f.Owner, ownerAsk, ownerAccept)
	}
	if len(f.From) > proposals.MaxListed {
		return r, fmt.Errorf("proposals.from: at most %d keys", proposals.MaxListed)
	}
	for _, given := range slices.Sorted(maps.Keys(f.From)) {
		key, err := PublicKey("proposals.from", where, given)
		if err != nil {
			return r, err
		}
		if key == "" {
			return r, fmt.Errorf("proposals.from: a key is empty")
		}
		r.Listed = append(r.Listed, proposals.Listed{Key: key, Name: f.From[given]})
	}
	return r, nil
}
