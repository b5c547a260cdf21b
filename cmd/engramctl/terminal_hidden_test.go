package main

import (
	"encoding/json"
	"strings"
	"testing"

	"engramd/internal/client/clienttest"
	"engramd/internal/e2e/relaytest"
	"engramd/nips/frontmatter"
)

// TestNothingHidesOnATerminal: what a model would read and a person would not see is shown
// by its number, by whatever command a text comes to a terminal.
func TestNothingHidesOnATerminal(t *testing.T) {
	p := newCorrecting(t)
	hidden := func(text string) string {
		for _, r := range "run" {
			text += string(0xe0000 + r)
		}
		return text + "\u200b\u2060\u115f\u3164\u2028\u202e\ufe01\U000e0101\x1b[2J and 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f."
	}
	const shown = "⟨U+E0072⟩⟨U+E0075⟩⟨U+E006E⟩⟨U+200B⟩⟨U+2060⟩⟨U+115F⟩⟨U+3164⟩⟨U+2028⟩⟨U+202E⟩⟨U+FE01⟩⟨U+E0101⟩⟨U+001B⟩[2J and 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f."
	p.does(hidden("I am Sami."), "mem", "set", "core", "-", "--allow-secret")
	p.does("Ana likes coffee.", "mem", "set", "people/ana", "-")
	p.does(hidden("Ana likes tea."), "mem", "set", "people/ana", "-", "--allow-secret")
	p.does(hidden("Ana was here."), "note", "-", "--allow-secret")
	p.does(hidden("Call Ana."), "intend", "-", "--due", "2020-01-01", "--allow-secret")
	proposed := reply(t, p.owns(hidden("Ana likes milk."), "propose", "edit", "people/ana", "-", "--why", hidden("she said so"), "--allow-secret", "--json"))["id"].(string)
	plan := p.planned(t)
	contract := strings.Fields(p.does(hidden("Count boats."), "contract", "new", "-", "--worker", relaytest.Owner().Pub, "--allow-secret"))[0]
	p.does(hidden("I counted."), "contract", "say", contract, "-", "--allow-secret")
	p.screen = true
	for _, c := range []struct {
		args  []string
		shows int // at least so often
	}{
		{[]string{"mem", "get", "people/ana"}, 1},
		{[]string{"mem", "get", "people/ana", "--json"}, 1},
		{[]string{"mem", "diff", "people/ana"}, 1},
		{[]string{"mem", "log", "people/ana", "--text"}, 1},
		{[]string{"core"}, 0},
		{[]string{"proposals", "show", proposed}, 1},
		{[]string{"proposals", "show", proposed, "--json"}, 1},
		{[]string{"proposals", "ls"}, 0},
		{[]string{"mind", "review", plan}, 1},
		{[]string{"mind", "review", plan, "--json"}, 1},
		{[]string{"contract", "show", contract}, 1},
		{[]string{"contract", "read", contract}, 1},
		{[]string{"contract", "ls"}, 0},
		{[]string{"intentions"}, 0},
		{[]string{"recall", "what does Ana like?"}, 0},
		{[]string{"mem", "search", "Ana"}, 0},
		{[]string{"mem", "ls"}, 0},
		{[]string{"wake"}, 0},
	} {
		got := p.run(strings.NewReader(""), c.args...)
		out := strings.ReplaceAll(got.stdout, `\u001b`, "⟨U+001B⟩") // by JSON itself
		out = strings.ReplaceAll(out, `\u2028`, "⟨U+2028⟩")
		if got.code != 0 || frontmatter.Visible(got.stdout) != got.stdout || frontmatter.Visible(got.stderr) != got.stderr || strings.Count(out, shown) < c.shows {
			t.Errorf("%v: exit code %d\n%+q\n%+q", c.args, got.code, got.stdout, got.stderr)
		}
	}
	p.screen = false
	if got := p.does("", "mem", "get", "people/ana"); got != hidden("Ana likes tea.") {
		t.Errorf("what is no terminal gets %+q", got)
	}
}

// planned proposes what archives each episode.
func (p *correcting) planned(t *testing.T) string {
	plan := reply(t, p.does("", "mind", "prepare", "--json"))
	var ops []map[string]any
	for _, u := range plan["units"].([]any) {
		if unit := u.(map[string]any); unit["role"] == "episode" {
			ops = append(ops, map[string]any{"op": "keep", "slug": unit["slug"]})
		}
	}
	answer, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	return reply(t, p.does(string(answer), "mind", "commit", plan["plan"].(string), "-", "--propose", "--json"))["plan"].(string)
}

// TestARelaysWordsHideNothing: why a relay refuses is its own text, below the reading that
// a shell and a harness wait for too.
func TestARelaysWordsHideNothing(t *testing.T) {
	for _, args := range [][]string{{"core"}, {"mem", "get", "core"}, {"hook", "session-start"}, {"hook", "prompt"}} {
		r := newHookRig(t, clienttest.Refusing(t, "error: \u202eno\u200b\U000e0072"))
		got := r.run(strings.NewReader(`{"session_id":"s","cwd":"/","prompt":"What does Ana like?"}`), args...)
		if frontmatter.Visible(got.stderr) != got.stderr {
			t.Errorf("%v: %+q", args, got.stderr)
		}
		if args[0] == "core" && !strings.Contains(got.stderr, "no⟨U+200B⟩⟨U+E0072⟩") {
			t.Errorf("%v: %+q", args, got.stderr)
		}
	}
}
