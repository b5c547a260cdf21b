//go:build nightly

package pages

import (
	"context"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestGoldenMove runs the commands of docs/sync.md, with two relays of the
// test in place of those on the page.
func TestGoldenMove(t *testing.T) {
	typed(t, "docs/sync.md", "Moving an agent to another relay", 14, readmeAddress, "127.0.0.1:7448")
}

// TestGoldenWeek runs the week of docs/mind.md.
func TestGoldenWeek(t *testing.T) {
	typed(t, "docs/mind.md", "A week of an agent", 20, readmeAddress)
}

// typed runs at least so many commands of a section of a page, with relays of
// the test in place of those at the addresses.
func typed(t *testing.T, name, heading string, least int, addresses ...string) {
	t.Helper()
	page, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	section, err := Section(page, heading)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := Install(dir); err != nil {
		t.Fatal(err)
	}
	shown := Console(section)
	if len(shown) < least {
		t.Fatalf("the section has %d commands only", len(shown))
	}
	var there, back []string
	for _, address := range addresses {
		ours := strings.TrimPrefix(relaytest.Start(t, relaytest.Options{}).URL, "ws://")
		there, back = append(there, address, ours), append(back, ours, address)
	}
	steps := make([]Step, len(shown))
	for i, s := range shown {
		steps[i] = Step{Command: strings.NewReplacer(there...).Replace(s.Command), Block: s.Block}
	}
	got, err := Run(context.Background(), dir, Env(dir), steps)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Command, got[i].Output = shown[i].Command, strings.NewReplacer(back...).Replace(got[i].Output)
	}
	shows(t, name, section, shown, got)
}
