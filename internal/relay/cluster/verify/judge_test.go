package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

type nowhere struct{}

func (nowhere) Nodes() int     { return 1 }
func (nowhere) URL(int) string { return "ws://127.0.0.1:1" }

// What a node shows in the end is judged by what its clients were told.
func TestJudge(t *testing.T) {
	note, head := nostr.KindTextNote, nostr.KindArticle
	for _, c := range []struct {
		name  string
		kind  int
		told  []Outcome // of events at one address, if the kind has one, each newer
		shown []int
		mayGo bool
		gone  bool
		says  string
	}{
		{name: "there", kind: note, told: []Outcome{Stored}, shown: []int{0}},
		{name: "not there", kind: note, told: []Outcome{Stored}, says: "lost: "},
		{name: "of unknown fate", kind: note, told: []Outcome{Unknown, Unknown}, shown: []int{0}},
		{name: "refused", kind: note, told: []Outcome{Refused}, shown: []int{0}, says: "which was refused"},
		{name: "removed", kind: note, told: []Outcome{Stored}, mayGo: true, gone: true},
		{name: "removed, and there", kind: note, told: []Outcome{Stored}, shown: []int{0}, mayGo: true, gone: true, says: "was removed"},
		{name: "perhaps removed", kind: note, told: []Outcome{Stored}, mayGo: true},
		{name: "the newest", kind: head, told: []Outcome{Stored, Stored}, shown: []int{1}},
		{name: "an older one", kind: head, told: []Outcome{Stored, Stored}, shown: []int{0}, says: "not the newest"},
		{name: "no version", kind: head, told: []Outcome{Stored}, says: "not the newest"},
		{name: "newer, and of unknown fate", kind: head, told: []Outcome{Stored, Unknown}, shown: []int{1}},
		{name: "a fork", kind: head, told: []Outcome{Stored, Unknown}, shown: []int{0, 1}, says: "two versions"},
		{name: "refused, and the head", kind: head, told: []Outcome{Stored, Refused}, shown: []int{1}, says: "which was refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWorld(nowhere{}, c.name)
			there := map[string]bool{}
			for i, told := range c.told {
				ev := w.Sign(w.Key(0), c.kind, int64(1000+i), fmt.Sprint(i), nostr.Tag{"d", "x"})
				w.note(&Write{Event: ev, Outcome: told, mayGo: c.mayGo, gone: c.gone})
				there[ev.ID] = slices.Contains(c.shown, i)
			}
			w.judge(0, w.All(), there)
			found := strings.Join(w.Violations(), "\n")
			if (found == "") != (c.says == "") || !strings.Contains(found, c.says) {
				t.Errorf("judged %q, want %q", found, c.says)
			}
		})
	}
}

// Relays cannot have the record grow without bound by what they say.
func TestRecordIsBounded(t *testing.T) {
	w := NewWorld(nowhere{}, "bound")
	for i := range 2 * most {
		w.Broken("%d", i)
		w.Count(fmt.Sprint(i))
	}
	if broken, counts := len(w.Violations()), len(w.counts); broken != most || counts != most {
		t.Errorf("%d and %d kept, of at most %d", broken, counts, most)
	}
}
