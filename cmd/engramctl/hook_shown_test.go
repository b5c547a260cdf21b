package main

import (
	"fmt"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestPromptTellsEachSection: of a long memory each section is told once, and one that
// was told as a part is not taken for the whole.
func TestPromptTellsEachSection(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	r := newHookRig(t, relay.URL)
	filler := strings.Repeat("Nothing else of any weight stands on this page. ", 20)
	r.plant(relay.URL, map[string]string{"mem/pier": "# Anchor\n\nThe anchor weighs forty stone.\n\n" + filler + "\n\n# Violin\n\nThe violin belongs to Greta of the lighthouse.\n\n" + filler,
		"mem/kettle": "The kettle of the harbour boils at noon by rule seven."})
	r.hook("generic", "session-start", fmt.Sprintf(`{"session_id":"a","cwd":%q}`, r.folder))
	for i, tt := range []struct{ prompt, want string }{
		{"How many stone does the anchor weigh?", "| The anchor weighs forty stone."},
		{"To whom of the lighthouse does the violin belong, Greta?", "| The violin belongs to Greta of the lighthouse."},
		{"How many stone does the anchor weigh?", ""},
		{"To whom of the lighthouse does the violin belong, Greta?", ""},
		{"When does the kettle of the harbour boil, by rule seven?", "| The kettle of the harbour boils at noon by rule seven."},
		{"When does the kettle of the harbour boil, by rule seven?", ""},
	} {
		got := r.hook("generic", "prompt", fmt.Sprintf(`{"session_id":"a","cwd":%q,"prompt":%q}`, r.folder, tt.prompt))
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%d, %s: %q, want %q", i, tt.prompt, got, tt.want)
		}
	}
}

// TestTitleIsNoText: of which a prompt was told the title alone, the text comes later.
func TestTitleIsNoText(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	r := newHookRig(t, relay.URL)
	tall := strings.Repeat("o\n", 220) // each line stands behind a mark
	r.plant(relay.URL, map[string]string{"mem/a": "The kettle of the harbour boils at noon.\n" + tall, "mem/b": "The kettle of the harbour was bought by Greta at the fair.\n" + tall})
	r.hook("generic", "session-start", fmt.Sprintf(`{"session_id":"a","cwd":%q}`, r.folder))
	told := func(prompt string) string {
		return r.hook("generic", "prompt", fmt.Sprintf(`{"session_id":"a","cwd":%q,"prompt":%q}`, r.folder, prompt))
	}
	both := told("When does the kettle of the harbour boil, and was the kettle of the harbour bought by Greta?")
	if strings.Count(both, "| The kettle of the harbour ") != 1 || strings.Count(both, ": The kettle of the harbour ") != 1 {
		t.Fatalf("%q", both)
	}
	for text, prompt := range map[string]string{"boils at noon": "What boils at noon in the harbour, the kettle?", "was bought by Greta": "Who bought it at the fair, was it Greta?"} {
		if shown := strings.Contains(both, "| The kettle of the harbour "+text); shown == strings.Contains(told(prompt), "| The kettle of the harbour "+text) {
			t.Errorf("%s: shown before: %v, and now the same", text, shown)
		}
	}
}
