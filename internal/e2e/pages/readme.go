package pages

import (
	"context"
	"strings"

	"engramd/internal/e2e/relaytest"
)

// readmeAddress is where the relay listens in README.md; ours is on a free port.
const readmeAddress = "127.0.0.1:7447"

// FiveMinutes runs the section of README.md with that name against a relay of
// its own, in a folder that is empty but for bin. It returns what the page shows
// and what came out, with the page's address in place of the true one.
func FiveMinutes(ctx context.Context, t relaytest.T, dir string) (shown, got []Step, err error) {
	page, err := Read("README.md")
	if err != nil {
		return nil, nil, err
	}
	section, err := Section(page, "Five minutes")
	if err != nil {
		return nil, nil, err
	}
	if _, err := Install(dir); err != nil {
		return nil, nil, err
	}
	relay := relaytest.Start(t, relaytest.Options{})
	address := strings.TrimPrefix(relay.URL, "ws://")
	shown = Console(section)
	if len(shown) > 0 && shown[0].Command == "make run" {
		shown = shown[1:] // that is the relay, and it runs
	}
	steps := make([]Step, len(shown))
	for i, s := range shown {
		steps[i] = Step{Command: strings.ReplaceAll(s.Command, readmeAddress, address), Block: s.Block}
	}
	got, err = Run(ctx, dir, Env(dir), steps)
	for i := range got {
		got[i].Command = shown[i].Command
		got[i].Output = strings.ReplaceAll(got[i].Output, address, readmeAddress)
	}
	return shown, got, err
}
