package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestVouchingIsAsked: at a terminal a person says again that the whole text is
// theirs, and without a yes nothing is sent.
func TestVouchingIsAsked(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{}).URL
	var out, asked bytes.Buffer
	run := func(answer string, secret string, args ...string) int {
		out.Reset()
		m := &Main{Args: args, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			Env: []string{"ENGRAM_KEY=" + secret, "ENGRAM_RELAYS=" + relay, "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()},
			Terminal: Terminal{Stdin: true, Line: func(_ context.Context, prompt string) (string, error) {
				asked.WriteString(prompt)
				return answer, nil
			}}}
		return m.Run(t.Context())
	}
	owner, agent := relaytest.Owner(), relaytest.Agent()
	if code := run("", agent.Secret, "mem", "set", "notes", "buy milk", "--owner", npub(owner.Pub)); code != 0 {
		t.Fatal(out.String())
	}
	archive := []string{"propose", "archive", "notes", "--vouch", "--agent", npub(agent.Pub)}
	for _, answer := range []string{"", "n", "never"} {
		if code := run(answer, owner.Secret, archive...); code != exitUsage || !strings.Contains(out.String(), "nothing was proposed") {
			t.Errorf("%q: %d, %s", answer, code, out.String())
		}
	}
	if !strings.Contains(asked.String(), "treats the whole text as told by you. Go on?") {
		t.Errorf("asked %q", asked.String())
	}
	list := []string{"proposals", "ls", "--json", "--agent", npub(agent.Pub)}
	if code := run("", owner.Secret, list...); code != 0 || strings.Contains(out.String(), `"act"`) {
		t.Errorf("%d, %s", code, out.String())
	}
	if code := run("y", owner.Secret, archive...); code != 0 {
		t.Errorf("%d, %s", code, out.String())
	}
	if code := run("", owner.Secret, list...); code != 0 || !strings.Contains(out.String(), `"vouch": true`) {
		t.Errorf("%d, %s", code, out.String())
	}
}
