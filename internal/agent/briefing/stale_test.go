package briefing

import (
	"strings"
	"testing"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/recall/answer"
)

// harbour is a memory of a project with one of each that may not hold any more.
var harbour = map[string]string{
	"core":                            "I am Sami. I pay what [[mem/projects/atlas/fee]] says.",
	"mem/narrative":                   "---\ntype: narrative\nderived_from: [mem/projects/atlas/fee]\n---\nI am careful with money in the harbour.",
	"mem/projects/atlas/fee":          "---\ntrust: derived\nstate: superseded\nderived_from: [mem/projects/atlas/j1, mem/projects/atlas/j2]\n---\nThe harbour takes 12 euros a night.",
	"mem/projects/atlas/fee-15":       "---\ntrust: derived\nsupersedes: mem/projects/atlas/fee\n---\nA night costs 15 euros now.",
	"mem/projects/atlas/j1":           episode(2, "salience: 0.9\n", "Ana says the harbour fee is 12 euros a night."),
	"mem/projects/atlas/j2":           episode(3, "salience: 0.8\n", "Ana says the harbour fee is 12 euros, and that the crane is out of order."),
	"mem/projects/atlas/crane":        "---\ntrust: derived\nderived_from: mem/projects/atlas/j2\n---\nThe harbour crane is out of order.",
	"mem/projects/atlas/dear":         "---\ntype: insight\nderived_from: mem/projects/atlas/fee\n---\nThe harbour fee is higher than the price of tea.",
	"mem/projects/atlas/blue":         "The harbour light is blue.",
	"mem/projects/atlas/green":        "---\ncontradicts: mem/projects/atlas/blue\n---\nThe harbour light is green.",
	"mem/projects/atlas/gone":         "---\nstate: archived\n---\nThe harbour had a cinema.",
	"mem/projects/atlas/j3":           episode(4, "salience: 0.7\n", "The harbour master is Kim."),
	"mem/projects/atlas/master":       "---\nstate: superseded\nderived_from: mem/projects/atlas/j3\n---\nThe harbour master is Kim.",
	"mem/projects/atlas/from-eve":     "---\ntrust: external\nsource: transplant:npub1\nsupersedes: mem/projects/atlas/master\n---\nThe harbour master is Eve.",
	"mem/projects/atlas/intend/pay":   "---\ntype: prospective\ndue: 2026-11-20\nderived_from: mem/projects/atlas/fee\n---\nPay the harbour.",
	"mem/projects/atlas/from-dan/fee": "---\ntrust: external\nstate: superseded\nsource: transplant:npub2\n---\nThe harbour of Dan takes 9 euros.",
}

// TestWhatNoLongerHolds: each memory that does not hold any more, or may not, on each
// surface: "-" is not there, else what stands beside it.
func TestWhatNoLongerHolds(t *testing.T) {
	v := view(t, answer.State{}, harbour)
	ask := answer.Query{Text: "harbour fee crane light master euros Ana", Budget: 9000}
	questions := []string{"How many euros is the harbour fee a night?", "Is the harbour crane out of order?", "Which colour has the harbour light, blue or green?", "Who is the harbour master, Kim or Eve?", "Is the harbour fee higher than the price of tea?"}
	surfaces := []string{"recall", "search", "prompt", "project", "replay"}
	texts := map[string]string{}
	for _, question := range questions {
		q := answer.Query{Text: question, Budget: 9000}
		found, err := answer.Recall(v, q, now)
		if err != nil {
			t.Fatal(err)
		}
		texts["recall"] += found.Block
		q.Holds, q.MinTrust = true, "derived"
		if found, err = answer.Tell(v, q, now); err != nil {
			t.Fatal(err)
		}
		texts["prompt"] += found.Block
	}
	all, err := answer.Search(v, ask, 50, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all.Hits {
		texts["search"] += "## " + h.Slug + " (" + strings.Join(h.Notes(), "; ") + ")\n"
	}
	project := Project(v, hook.Memory{Project: "atlas", Linked: true})
	section, _ := hook.Project(hook.Units, project)
	texts["project"] = section.Text
	start := Of(t.Context(), v, Options{Now: now, Project: "atlas", Linked: true})
	replay, _ := hook.Replay(hook.Units, start.Episodes, start.Copy, 5000)
	texts["replay"] = replay.Text

	const fee = "mem/projects/atlas/fee-15"
	for slug, want := range map[string][5]string{
		"fee":          {"-", "-", "-", "-", "-"},
		"fee-15":       {"", "", "*", "", "-"}, // in a prompt as far as its own words go
		"j1":           {"superseded by " + fee, "superseded by " + fee, "-", "-", "-"},
		"j2":           {"partly superseded by " + fee, "partly superseded by " + fee, "partly superseded by " + fee, "partly superseded by " + fee, "partly superseded by " + fee},
		"dear":         {"superseded by " + fee, "superseded by " + fee, "-", "-", "-"},
		"crane":        {"", "", "", "", "-"},
		"blue":         {"contradicts mem/projects/atlas/green", "contradicts mem/projects/atlas/green", "contradicts mem/projects/atlas/green", "contradicts mem/projects/atlas/green", "-"},
		"gone":         {"-", "-", "-", "-", "-"},
		"j3":           {"", "", "", "", ""}, // what superseded what was derived from it has too little trust
		"master":       {"-", "-", "-", "-", "-"},
		"from-eve":     {"", "", "-", "-", "-"},
		"from-dan/fee": {"-", "-", "-", "-", "-"},
	} {
		for i, surface := range surfaces {
			if want[i] == "*" {
				continue
			}
			_, rest, there := strings.Cut(texts[surface], "mem/projects/atlas/"+slug+" ")
			if !there {
				_, rest, there = strings.Cut(texts[surface], "mem/projects/atlas/"+slug+"\n")
			}
			heading, _, _ := strings.Cut(rest, "\n")
			marked := strings.Contains(heading, "superseded by") || strings.Contains(heading, "contradicts")
			if there == (want[i] == "-") || there && (!strings.Contains(heading, want[i]) || marked != (want[i] != "")) {
				t.Errorf("%s in %s: %v %q, want %q", slug, surface, there, heading, want[i])
			}
		}
	}
	for _, surface := range []string{"recall", "search"} {
		if strings.Index(texts[surface], "## "+fee) > strings.Index(texts[surface], "## mem/projects/atlas/j1") {
			t.Errorf("in %s the new one is not first:\n%s", surface, texts[surface])
		}
	}

	// What is never stale is told, each with one line.
	told := Tell(Parts{Measure: hook.Units, Core: hook.Core(harbour["core"], ""), Start: start}).Text
	for _, line := range []string{"core rests in part on what was superseded by " + fee, "mem/narrative rests in part on what was superseded by " + fee, "I am careful with money",
		"mem/projects/atlas/intend/pay (due 2026-11-20; rests on what was superseded by " + fee + ")"} {
		if strings.Count(told, line) != 1 {
			t.Errorf("%q is not told once in\n%s", line, told)
		}
	}
	if strings.Contains(told, "the harbour fee is 12 euros a night") {
		t.Errorf("what does not hold is told:\n%s", told)
	}
	if due := intentions.Look(v, intentions.Ask{Now: now, Place: intentions.Place{Project: "atlas", Linked: true}}); len(due) != 1 || !strings.Contains(due[0].Line(), "superseded by "+fee) {
		t.Errorf("%+v", due)
	}
	if titles := hook.Titles(project); strings.Contains(titles, "/j1") || strings.Contains(titles, "/dear") || !strings.Contains(titles, "/j2 (partly superseded by "+fee+")") {
		t.Errorf("a subagent is told\n%s", titles)
	}
}
