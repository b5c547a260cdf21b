package state

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// TestTurns: what a session was told and what was withheld is known by its turns, prompts
// are counted on after a session was forgotten, and after 30 days nothing of it is there.
func TestTurns(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	one := Session{ID: "s", Harness: "claude", Folder: "/atlas", Project: "atlas"}
	boats, eve := Told{Slug: "mem/boats", Event: hexOf(1), Reason: "words: boats"}, Told{Slug: "mem/eve", Event: hexOf(2), Reason: "external", Withheld: true}
	must(t, s.Turns.Start(t.Context(), Turn{Session: one, Texts: []Told{{Slug: "core", Reason: "core"}}}))
	must(t, s.Turns.Prompt(t.Context(), Turn{Session: one, Texts: []Told{boats, eve}, Shown: []Shown{{"mem/boats", "1"}}}))
	must(t, s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "other", Harness: "codex"}, Note: Late}))
	must(t, s.write(t.Context(), func(tx *sealedfile.Tx) error { return tx.Exec("DELETE FROM sessions") })) // as a day later
	must(t, s.Turns.Prompt(t.Context(), Turn{Session: one, Note: Late}))
	all, err := s.Turns.Of(t.Context(), "s")
	must(t, err)
	seen := func(prompt int64, note string, texts ...Told) Turn {
		return Turn{Session: Session{ID: "s", Harness: "claude", Seen: testTime}, Prompt: prompt, Note: note, Texts: texts}
	}
	if want := []Turn{seen(0, "", Told{Slug: "core", Reason: "core"}), seen(1, "", boats, eve), seen(2, Late)}; !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, want %+v", all, want)
	}
	if newest, err := s.Turns.Newest(t.Context(), 5); err != nil || !reflect.DeepEqual(newest, []string{"s", "other"}) {
		t.Errorf("the newest are %v, %v", newest, err)
	}
	r.now = r.now.Add(turnsLast + time.Minute)
	must(t, s.Turns.Start(t.Context(), Turn{Session: Session{ID: "new", Harness: "claude"}}))
	if all, err := s.Turns.Of(t.Context(), "s"); len(all) > 0 || err != nil {
		t.Errorf("a month later: %+v, %v", all, err)
	}
}

// TestTurnsAreBounded: of one turn, and in all, no more is kept than the bounds say.
func TestTurnsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	s := newRig(t).open(testPair)
	var many []Told
	for n := range maxTexts + 9 {
		many = append(many, Told{Slug: fmt.Sprint("mem/", n), Reason: strings.Repeat("w", 9*maxReason)})
	}
	for range maxTurns/maxTexts + 9 {
		must(t, s.Turns.Start(t.Context(), Turn{Session: Session{ID: "s", Harness: "claude"}, Texts: many}))
	}
	all, err := s.Turns.Of(t.Context(), "s")
	must(t, err)
	rows := len(all)
	for _, turn := range all {
		rows += len(turn.Texts)
		if len(turn.Texts) > maxTexts || len(turn.Texts[0].Reason) > maxReason {
			t.Fatalf("%d texts, a reason of %d bytes", len(turn.Texts), len(turn.Texts[0].Reason))
		}
	}
	if rows > maxTurns || rows < maxTurns-2*maxTexts {
		t.Errorf("%d rows are kept", rows)
	}
	if err := s.Turns.Prompt(t.Context(), Turn{Session: Session{ID: "s", Harness: "x"}, Texts: []Told{{Slug: strings.Repeat("m", maxName+1)}}}); err == nil {
		t.Error("a slug of any length is taken")
	}
}

// TestChoresOnceADay: what waits is told to one session a day.
func TestChoresOnceADay(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	for _, step := range []struct {
		later time.Duration
		note  string
		due   bool
	}{{0, Chores, true}, {time.Hour, "", false}, {choresWait - 2*time.Hour, "", false}, {2 * time.Hour, "", true}, {0, Chores, true}, {-10 * 24 * time.Hour, "", true}} {
		r.now = r.now.Add(step.later)
		if due, err := s.Turns.Chores(t.Context()); due != step.due || err != nil {
			t.Errorf("%+v: %v, %v", step, due, err)
		}
		must(t, s.Turns.Start(t.Context(), Turn{Session: Session{ID: "s", Harness: "claude"}, Note: step.note}))
	}
}
