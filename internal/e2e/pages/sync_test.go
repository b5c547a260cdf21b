//go:build nightly

package pages

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/golden"
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
	again(t, func() []string { return typedOnce(t, name, heading, least, addresses...) })
}

// again types a page once more where it came out otherwise: some of its commands wait
// for relays for 2 or 3 s by the clock, which a busy machine may take.
func again(t *testing.T, once func() (wrong []string)) {
	t.Helper()
	const attempts = 5
	for n := 1; ; n++ {
		wrong := once()
		for _, text := range wrong {
			if n == attempts {
				t.Error(text)
			} else {
				t.Logf("attempt %d: %s", n, text)
			}
		}
		if len(wrong) == 0 || n == attempts {
			return
		}
	}
}

// typedOnce returns what came out otherwise than the page shows it.
func typedOnce(t *testing.T, name, heading string, least int, addresses ...string) []string {
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
	return wrong(t, name, section, shown, got)
}

// wrong returns what came out otherwise than a section of a page shows it, or writes
// all that came out into the page.
func wrong(t *testing.T, name, section string, shown, got []Step) (all []string) {
	t.Helper()
	for i, s := range shown {
		if !Same(s.Output, got[i].Output) {
			all = append(all, fmt.Sprintf("$ %s\n%s shows:\n%s\nit prints:\n%s\n(make generate writes it)", s.Command, name, s.Output, got[i].Output))
		}
	}
	if all == nil || !golden.Update() {
		return all
	}
	page, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join(root, name), strings.Replace(page, section, Fill(section, got), 1))
	return nil
}
