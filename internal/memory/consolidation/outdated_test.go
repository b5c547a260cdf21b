package consolidation

import (
	"slices"
	"strings"
	"testing"
)

// outdated is a memory in which a fact was corrected that others rest on.
var outdated = texts{
	"core":          "I pay what [[mem/fee]] says.",
	"mem/narrative": a("narrative", "derived_from: [mem/fee]\n", "I am careful."),
	"mem/fee":       a("semantic", "trust: derived\nstate: superseded\nderived_from: [mem/j/1]\n", "12 euros a night."),
	"mem/fee-15":    a("semantic", "trust: derived\nsupersedes: [mem/fee]\n", "15 euros a night."),
	"mem/j/1":       episode(300, "consolidated: 2026-02-02T00:00:00Z\n", "The fee is 12 euros."),
	"mem/pay":       a("prospective", "derived_from: [mem/fee]\n", "Pay the harbour."),
	"mem/dear":      a("insight", "derived_from: [mem/fee]\n", "The harbour is dear."),
	"mem/tea":       a("semantic", "", "Ana likes tea."),
}

// A plan shows what rests on what is superseded, each with what took the place of
// that, and what is never archived alone it does not show as stale.
func TestPrepareShowsWhatIsOutdated(t *testing.T) {
	p := outdated.prepare(t, PrepareOptions{Stale: func(string) bool { return true }})
	if got := slugs(p, Outdated); !slices.Equal(got, []string{"core", "mem/dear", "mem/j/1", "mem/pay"}) {
		t.Errorf("outdated are %v", got)
	}
	if got := slugs(p, Stale); slices.Contains(got, "mem/fee-15") || !slices.Contains(got, "mem/tea") {
		t.Errorf("stale are %v", got)
	}
	text := p.Text(outdated.text)
	for slug, note := range map[string]string{"core": "partly ", "mem/narrative": "partly ", "mem/pay": "partly ", "mem/dear": "", "mem/j/1": ""} {
		_, rest, _ := strings.Cut(text, "### "+slug+" (")
		if lines := strings.SplitN(rest, "\n", 3); len(lines) < 3 || lines[1] != "("+note+"superseded by mem/fee-15)" {
			t.Errorf("%s stands as %q in\n%s", slug, rest[:min(len(rest), 120)], text)
		}
	}
}

// A plan archives no correction and leaves the episode of what it corrects.
func TestNoPlanArchivesACorrectionAlone(t *testing.T) {
	plan := Plan{Kind: Archive, Made: now}
	for _, slug := range []string{"mem/fee-15", "mem/j/1"} {
		plan.Units = append(plan.Units, Shown{Slug: slug, Hash: Hash(outdated[slug]), Role: Stale})
	}
	plan = plan.Identify()
	for _, c := range []struct {
		ops  []Op
		want string
	}{
		{[]Op{{Op: OpArchive, Slug: "mem/fee-15"}}, "mem/fee-15 corrects what mem/j/1 says, which would be found in its place"},
		{[]Op{{Op: OpArchive, Slug: "mem/fee-15"}, {Op: OpKeep, Slug: "mem/j/1"}}, "mem/fee-15 corrects"},
		{[]Op{{Op: OpArchive, Slug: "mem/j/1"}, {Op: OpArchive, Slug: "mem/fee-15"}}, ""},
		{[]Op{{Op: OpArchive, Slug: "mem/j/1"}}, ""},
	} {
		_, err := Check(plan, c.ops, outdated.at, CheckOptions{Now: now, View: outdated.view(t)})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.ops, err)
		}
	}
}
