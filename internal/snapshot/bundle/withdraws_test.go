package bundle

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// Others' requests have a place among the deletions if they can be about contract
// memory only.
func TestOthersRequestsOfContractMemory(t *testing.T) {
	key, agent := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	e := nostr.Tag{"e", strings.Repeat("01", 32)}
	for name, c := range map[string]struct {
		kind int
		tags nostr.Tags
		ok   bool
	}{
		"by id":                {5, nostr.Tags{e}, true},
		"an entry's address":   {5, nostr.Tags{{"a", "30090:" + key + ":c"}, e}, true},
		"a state's address":    {5, nostr.Tags{{"a", "30091:" + key + ":c"}}, true},
		"an engram's address":  {5, nostr.Tags{e, {"a", "30174:" + key + ":c"}}, false},
		"nothing":              {5, nostr.Tags{{"k", "30090"}}, false},
		"a request to vanish":  {62, nostr.Tags{e}, false},
		"an entry, no request": {30090, nostr.Tags{{"d", "c"}, e}, false},
	} {
		r := &record{ev: &nostr.Event{Kind: c.kind, PubKey: key, Tags: c.tags}}
		if err := r.belongs(Deletions, agent); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
