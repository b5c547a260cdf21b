package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// Fingerprint identifies all that [Table.Classify] depends on. When it differs
// from the one a database was written under, the classes stored there must be
// computed again, of events that have one but Open and of kinds that
// [Table.MayGate].
func (t *Table) Fingerprint() string { return t.fingerprint }

// WithVerdicts reports whether the classes stored under a fingerprint say of
// deletion requests by id what was found of the events that they named. In the
// first versions they were open whatever they named.
func WithVerdicts(fingerprint string) bool { return !strings.HasPrefix(fingerprint, "v1;") }

// fingerprintOf makes one of the entries, the configured ones among them, and
// of how the samples are classed: an entry says which trait decides, and code
// what has the trait.
func fingerprintOf(t *Table) (string, error) {
	numbers := slices.Sorted(maps.Keys(t.kinds))
	sum := sha256.New()
	for _, kind := range numbers {
		text, err := json.Marshal(t.kinds[kind])
		if err != nil {
			return "", fmt.Errorf("fingerprint of kind %d: %w", kind, err)
		}
		sum.Write(text)
	}
	for _, kind := range numbers {
		if len(t.kinds[kind].Except) == 0 {
			continue
		}
		for _, ev := range samples() {
			ev.Kind = kind
			sum.Write([]byte{byte(t.Classify(&ev)), byte(t.Reclassify(&ev, Open)), byte(t.Reclassify(&ev, Deletion))})
		}
	}
	return "kinds:" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// samples are events on which traits can be told apart: whoever changes what
// has a trait adds one that shows it.
func samples() []nostr.Event {
	var all []nostr.Event
	for _, content := range []string{"", "hello", "{}", " \t\r\n{}", "\v{}", "[]", "null", `"x"`, `{"a":1,"a":2}`, `{"a":`, "{} {}"} {
		all = append(all, nostr.Event{Content: content})
	}
	for _, tags := range []nostr.Tags{
		{{"e", "x"}}, {{"e"}}, {{"k", "1"}}, {{"k", "30174"}}, {{"k", " +030174 "}}, {{"k", "x", "30174"}}, {{"k"}}, {{"q", "30174"}},
		{{"k", "1"}, {"k", "4"}}, {{"e", "x"}, {"k", "1"}}, {{"e", "x"}, {"k", "30174"}},
		{{"a", "30174:x:y"}}, {{"a", "30174"}}, {{"a", "30023:x:30174"}}, {{"a", "30078:x:" + ApprovalD}}, {{"a", "30078:x:y"}},
		{{"d", ApprovalD}}, {{"d", "x"}, {"d", ApprovalD}}, {{"d", ApprovalD + "/"}}, {{"D", ApprovalD}},
	} {
		all = append(all, nostr.Event{Tags: tags})
	}
	return all
}
