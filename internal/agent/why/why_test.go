package why

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/state"
)

// TestOf: the session that was told last is meant where none is named, what has another
// version by now is replaced if the copy can say so, and what is not known says what is.
func TestOf(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	s, err := state.Open(t.Context(), state.Pair{Agent: strings.Repeat("a", 64), Owner: strings.Repeat("b", 64), Conversation: [32]byte{1}}, state.Options{Dir: filepath.Join(t.TempDir(), "engramd"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	refused := func(want, id string, prompt int64) {
		t.Helper()
		var unknown *UnknownError
		if _, err := Of(t.Context(), s.Turns, nil, id, &prompt); !errors.As(err, &unknown) || !errors.Is(err, client.ErrNotFound) || !strings.Contains(unknown.What, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	refused("no session was told anything", "", 0)
	old, boats, eve := strings.Repeat("1", 64), strings.Repeat("2", 64), strings.Repeat("3", 64)
	a, b := state.Session{ID: "a", Harness: "claude"}, state.Session{ID: "b", Harness: "codex"}
	for _, err := range []error{
		s.Turns.Start(t.Context(), state.Turn{Session: a, Note: state.Chores, Texts: []state.Told{{Slug: "core", Event: old, Reason: "core"}}}),
		s.Turns.Prompt(t.Context(), state.Turn{Session: a, Texts: []state.Told{{Slug: "mem/boats", Event: boats, Reason: "boats"}, {Slug: "mem/new", Reason: "paint"}, {Slug: "mem/eve", Event: eve, Reason: "external", Withheld: true}}}),
		s.Turns.Prompt(t.Context(), state.Turn{Session: a, Note: state.Late}),
		s.Turns.Start(t.Context(), state.Turn{Session: b}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	source := func(unfinished bool) answer.Source {
		held, err := answer.Load([]answer.Held{{Head: answer.Head{Slug: "core", ID: strings.Repeat("4", 64)}, Text: "I am Sami."}, {Head: answer.Head{Slug: "mem/boats", ID: boats}, Text: "Boats."}}, answer.State{Unfinished: unfinished})
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	at, none := now.Format(time.RFC3339), []Text{}
	whole := []Turn{
		{Time: at, Told: []Text{{"core", old, "core", true}}, Withheld: none},
		{Prompt: 1, Time: at, Told: []Text{{"mem/boats", boats, "boats", false}, {"mem/new", "", "paint", false}}, Withheld: []Text{{"mem/eve", eve, "external", true}}},
		{Prompt: 2, Time: at, Silent: "late", Told: none, Withheld: none},
	}
	got, err := Of(t.Context(), s.Turns, source(false), "a", nil)
	if want := (Answer{"a", "claude", whole}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for name, c := range map[string]struct {
		source    answer.Source
		core, eve bool // replaced
	}{"whole": {source(false), true, true}, "not whole": {source(true), true, false}, "no copy": {}} {
		got, err := Of(t.Context(), s.Turns, c.source, "a", nil)
		if err != nil || got.Turns[0].Told[0].Replaced != c.core || got.Turns[1].Withheld[0].Replaced != c.eve {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	one := int64(1)
	if got, err := Of(t.Context(), s.Turns, source(false), "a", &one); err != nil || !reflect.DeepEqual(got.Turns, whole[1:2]) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Of(t.Context(), s.Turns, nil, "", nil); err != nil || got.Session != "b" || len(got.Turns) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	refused("the last ones are b, a", "c", 0)
	refused("prompt 7 of session a, which had 2", "a", 7)
}

// TestCut: the last turns stay that fit, and the very last does always.
func TestCut(t *testing.T) {
	for most, left := range map[int]int{0: 1, 3: 1, 4: 2, 5: 2, 6: 3, 99: 3} {
		a := Answer{Turns: []Turn{{Prompt: 1, Told: make([]Text, 1)}, {Prompt: 2}, {Prompt: 3, Told: make([]Text, 1), Withheld: make([]Text, 1)}}}
		if cut := a.Cut(most); cut != 3-left || len(a.Turns) != left || a.Turns[left-1].Prompt != 3 {
			t.Errorf("of %d: %d cut, %+v", most, cut, a.Turns)
		}
	}
	if (&Answer{}).Cut(0) != 0 {
		t.Error("of nothing something is cut")
	}
}
