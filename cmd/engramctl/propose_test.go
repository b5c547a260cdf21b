package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/proposals"
)

// TestVouchingIsAsked: at a terminal a person must confirm that the whole text
// is theirs, and without a yes nothing is sent.
func TestVouchingIsAsked(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{}).URL
	var out, asked bytes.Buffer
	run := func(answer string, secret string, args ...string) int {
		out.Reset()
		m := &root.Main{Args: args, Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Slack: slack,
			Env: []string{"ENGRAM_KEY=" + secret, "ENGRAM_RELAYS=" + relay, "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()},
			Terminal: cliutil.Terminal{Stdin: true, Line: func(_ context.Context, prompt string) (string, error) {
				asked.WriteString(prompt)
				return answer, nil
			}}}
		return m.Run(t.Context())
	}
	owner, agent := relaytest.Owner(), relaytest.Agent()
	if code := run("", agent.Secret, "mem", "set", "notes", "buy milk", "--owner", settings.Npub(owner.Pub)); code != 0 {
		t.Fatal(out.String())
	}
	archive := []string{"propose", "archive", "notes", "--vouch", "--agent", settings.Npub(agent.Pub)}
	for _, answer := range []string{"", "n", "never"} {
		if code := run(answer, owner.Secret, archive...); code != exit.Usage || !strings.Contains(out.String(), "nothing was proposed") {
			t.Errorf("%q: %d, %s", answer, code, out.String())
		}
	}
	if !strings.Contains(asked.String(), "treats the whole text as told by you. Go on?") {
		t.Errorf("asked %q", asked.String())
	}
	list := []string{"proposals", "ls", "--json", "--agent", settings.Npub(agent.Pub)}
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

// TestWhatIsAcceptedIsChained: what accepting writes, and the answer to the owner,
// are in the agent's one log; proposals and answers to others are in none.
func TestWhatIsAcceptedIsChained(t *testing.T) {
	r := newChainedRig(t)
	r.does("", "mem", "set", "notes", "buy milk")
	propose := func(by relaytest.Key, p proposals.Proposal) string {
		t.Helper()
		id, err := client.NewIdentity(by.Secret)
		if err != nil {
			t.Fatal(err)
		}
		c := client.New(id, client.Options{Relays: []string{r.relay.URL}, Timeout: relaytest.Patience})
		defer c.Close()
		p.Agent = relaytest.Agent().Pub
		p, _, err = (&proposals.Author{Client: c}).Propose(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return p.EventID
	}
	base := client.Hash("buy milk")
	a := propose(relaytest.Owner(), proposals.Proposal{Act: proposals.Write, Slug: "mem/a", Base: memory.BaseNone, Text: "one"})
	b := propose(relaytest.Owner(), proposals.Proposal{Act: proposals.Delete, Slug: "mem/notes", Base: base})
	f := propose(relaytest.Stranger(), proposals.Proposal{Act: proposals.Write, Slug: "mem/from/friend/x", Base: memory.BaseNone, Text: "two"})
	config := filepath.Join(r.dir, "friends.toml")
	if err := os.WriteFile(config, []byte("profile = \"p\"\n[profiles.p.proposals.from]\n"+settings.Npub(relaytest.Stranger().Pub)+" = \"friend\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.does("", "proposals", "accept", a)
	r.does("", "proposals", "reject", b, "no")
	r.does("", "proposals", "accept", f, "--config", config)
	r.does("", "mem", "set", "b", "three")
	sizes, unchained := r.checked()
	if len(sizes) != 1 || len(unchained) != 0 {
		t.Errorf("the logs are %v, in none %v", sizes, unchained)
	}
	for _, n := range sizes {
		if n != 6 { // notes, a and its answer, the answer to b, x, and b
			t.Errorf("%d events are in it, want 6", n)
		}
	}
	states, err := filepath.Glob(filepath.Join(r.dir, "state", "engramd", "*"))
	if err != nil || len(states) == 0 {
		t.Fatal(states, err)
	}
	names := map[string]bool{}
	for _, path := range states {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		names[name] = true
	}
	if len(names) != 1 {
		t.Errorf("there are states of more than one pair: %v", states)
	}
}
