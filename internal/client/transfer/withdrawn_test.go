package transfer

import (
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/clienttest"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/niptemp"
)

// A withdrawn entry has no current version that could differ. Its versions are
// sent together with the request to delete, or reported.
func TestTransferOfWithdrawnEntries(t *testing.T) {
	now := time.Now().Unix()
	tag := func(name, id string) nostr.Tags {
		return nostr.Tags{{"d", id}, {"t", "message"}, {"p", who(t, name).PubKey()}}
	}
	const id, other = "0f8fad5b-d9cb-469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-70867728950f"
	write := func(name, to, id string, ago int64) *nostr.Event {
		return signed(t, name, niptemp.KindEntry, now-ago, `{"type":"message","content":"x"}`, tag(to, id)...)
	}
	remove := func(name string, ev *nostr.Event, ago int64) *nostr.Event {
		return signed(t, name, nostr.KindDeletion, now-ago, "", nostr.Tag{"e", ev.ID}, nostr.Tag{"k", "30090"})
	}
	one, two := write("agent", "worker", id, 50), write("agent", "worker", id, 40)
	theirs, request := write("worker", "agent", id, 45), remove("agent", two, 20)
	early, late := write("agent", "worker", other, 50), write("agent", "worker", other, 40)
	a, b, c := bridgetest.Start(t), bridgetest.Start(t), bridgetest.Start(t)
	put(t, []string{a.URL}, one, two, theirs, request, remove("worker", theirs, 19), early, late)
	put(t, []string{c.URL}, request, late)
	agent := who(t, "agent")
	got := move(t, agent, []string{a.URL}, []string{b.URL}, nil).Targets[0]
	if !got.UpToDate() || len(got.NotMoved) != 1 || got.NotMoved[0].Event.ID != theirs.ID {
		t.Errorf("%+v", got)
	}
	// An entry that its author withdrew before this key saw it does not become
	// current.
	currentA, pastA := shown(t, agent, a.URL)
	currentB, pastB := shown(t, agent, b.URL)
	if !slices.Equal(currentA, currentB) || !slices.Equal(pastA, pastB) || len(pastB) != 3 {
		t.Errorf("%d and %d current, %d and %d past", len(currentA), len(currentB), len(pastA), len(pastB))
	}
	if again := move(t, agent, []string{a.URL}, []string{b.URL}, nil).Targets[0]; again.Sent != 0 || len(again.NotMoved) != 1 {
		t.Errorf("again: %+v", again)
	}
	// A target that has the newer version, or the request already, is reported
	// with what it lacks.
	got = move(t, agent, []string{a.URL}, []string{c.URL}, nil).Targets[0]
	ids := []string{}
	for _, m := range got.NotMoved {
		ids = append(ids, m.Event.ID)
	}
	for _, ev := range []*nostr.Event{one, two, early, theirs} {
		if !slices.Contains(ids, ev.ID) {
			t.Errorf("%s is not told: %+v", ev.ID, got)
		}
	}
	if current, _ := shown(t, agent, c.URL); !slices.Equal(current, currentA) || got.Sent != 0 {
		t.Errorf("%d current, %+v", len(current), got)
	}
}

// Older versions that the target lacks are reported also where it has a newer
// one.
func TestTransferOfWhatIsStale(t *testing.T) {
	now := time.Now().Unix()
	a, b := bridgetest.Start(t), bridgetest.Start(t)
	old := clienttest.EngramAt(t, "agent", "owner", "mem/a", "1", now-50)
	put(t, []string{a.URL}, old, clienttest.EngramAt(t, "agent", "owner", "mem/a", "2", now-40))
	put(t, []string{b.URL}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "3", now-30))
	got := move(t, who(t, "agent"), []string{a.URL}, []string{b.URL}, nil).Targets[0]
	if !got.UpToDate() || got.Newer != 1 || len(got.NotMoved) != 1 || got.NotMoved[0].Event.ID != old.ID {
		t.Errorf("%+v", got)
	}
}
