package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
	"engramd/internal/e2e/relaytest"
)

// TestRepairIsAsked: where others may have deleted what would be brought back, a person is
// shown it and asked, and without a yes nothing is sent.
func TestRepairIsAsked(t *testing.T) {
	full, bare, state := relaytest.Start(t, relaytest.Options{}).URL, relaytest.Start(t, relaytest.Options{}).URL, t.TempDir()
	var out, asked bytes.Buffer
	run := func(relay, answer string, args ...string) int {
		out.Reset()
		m := &root.Main{Args: args, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Slack: slack,
			Env: []string{"ENGRAM_KEY=" + relaytest.Agent().Secret, "ENGRAM_OWNER=" + settings.Npub(relaytest.Owner().Pub), "ENGRAM_RELAYS=" + relay,
				"XDG_STATE_HOME=" + state, "XDG_CACHE_HOME=" + t.TempDir()},
			Terminal: cliutil.Terminal{Stdin: true, Line: func(_ context.Context, prompt string) (string, error) {
				asked.WriteString(prompt)
				return answer, nil
			}}}
		return m.Run(t.Context())
	}
	if code := run(full, "", "mem", "set", "notes", "buy milk"); code != 0 {
		t.Fatal(out.String())
	}
	for _, answer := range []string{"", "n", "never"} {
		if code := run(bare, answer, "repair"); code != exit.Usage || !strings.Contains(out.String(), "mem/notes\n") || !strings.Contains(out.String(), "nothing was sent") {
			t.Errorf("%q: %d, %s", answer, code, out.String())
		}
	}
	if !strings.Contains(asked.String(), "no relay had confirmed a copy on this machine before; other machines may have deleted these. Go on? [y/N] ") {
		t.Errorf("asked %q", asked.String())
	}
	asked.Reset()
	if code := run(bare, "", "repair", "--yes", "--dry-run"); code != 0 || !strings.Contains(out.String(), "would send") || asked.Len() > 0 {
		t.Errorf("%d, %s", code, out.String())
	}
	if code := run(bare, "y", "repair"); code != 0 || !strings.Contains(out.String(), "sent  ") || asked.Len() == 0 {
		t.Errorf("%d, %s", code, out.String())
	}
}
