package notify_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/notify"
)

func TestChangesMemory(t *testing.T) {
	for _, c := range []struct {
		name string
		kind int
		tags nostr.Tags
		want bool
	}{
		{"an engram", 30174, nil, true},
		{"a request to vanish", 62, nil, true},
		{"a deletion of kind 30174", 5, nostr.Tags{{"e", "x"}, {"k", "30174"}}, true},
		{"a deletion of an address", 5, nostr.Tags{{"a", "30174:author:d"}}, true},
		{"a deletion of notes", 5, nostr.Tags{{"k", "1"}, {"a", "30023:author:d"}}, false},
		{"a deletion with empty tags", 5, nostr.Tags{{}, {"k"}, {"a"}}, false},
		{"a note about kind 30174", 1, nostr.Tags{{"k", "30174"}}, false},
		{"contract memory", 30090, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := notify.ChangesMemory(&nostr.Event{Kind: c.kind, Tags: c.tags}); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
