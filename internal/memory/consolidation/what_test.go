package consolidation

import "testing"

func TestWhat(t *testing.T) {
	const old = "---\ntype: episodic\n---\nAna chose tea."
	for want, c := range map[string]Change{
		Created:      {New: old},
		Replaced:     {Base: "x", Old: old, New: "---\ntype: episodic\nstate: archived\n---\nAna chose coffee."},
		Archived:     {Base: "x", Old: old, New: "---\ntype: episodic\nstate: archived\nconsolidated: 2026-11-23T05:00:00Z\n---\nAna chose tea."},
		Superseded:   {Base: "x", Old: old, New: "---\ntype: episodic\nstate: superseded\n---\nAna chose tea."},
		Consolidated: {Base: "x", Old: old, New: "---\ntype: episodic\nconsolidated: 2026-11-23T05:00:00Z\nrelated_to: [mem/x]\n---\nAna chose tea."},
		Linked:       {Base: "x", Old: old, New: "---\ntype: episodic\nrelated_to: [mem/x]\n---\nAna chose tea."},
	} {
		if got := c.What(); got != want {
			t.Errorf("%q is %s, want %s", c.New, got, want)
		}
	}
}
