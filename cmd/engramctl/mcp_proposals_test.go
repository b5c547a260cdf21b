package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// correcting is an agent's machine beside its owner's, with a relay.
type correcting struct {
	*chainedRig
	owner *hookRig
}

func newCorrecting(t *testing.T) *correcting {
	t.Helper()
	p := &correcting{chainedRig: newChainedRig(t)}
	p.owner = newHookRig(t, p.relay.URL)
	p.owner.write("owner.key", relaytest.Owner().Secret+"\n")
	return p
}

// owns runs a command of the owner's, which must succeed.
func (p *correcting) owns(stdin string, args ...string) string {
	p.t.Helper()
	got := p.owner.run(strings.NewReader(stdin), append(args, "--key-file", filepath.Join(p.owner.dir, "owner.key"), "--agent", relaytest.Agent().Pub)...)
	if got.code != 0 {
		p.t.Fatalf("%v: exit code %d: %s", args, got.code, got.stderr)
	}
	return got.stdout
}

// TestOwnerCorrectsAMemory: the owner finds a wrong memory and proposes the
// right text; the agent's next session begins with one proposal counted and
// none of its text, its server shows and accepts it, and the owner reads the
// answer.
func TestOwnerCorrectsAMemory(t *testing.T) {
	p := newCorrecting(t)
	p.does("", "mem", "set", "core", "I am Sami.")
	p.does("", "mem", "set", "people/ana", "Ana drinks tea.")
	p.owns("Ana drinks coffee.", "propose", "edit", "people/ana", "-", "--why", "she told me")
	p.owns("", "propose", "set", "people/bo", "Bo is Ana's brother.")

	start := p.hook("claude", "session-start", `{"session_id":"s","source":"startup","cwd":"`+p.folder+`"}`)
	if !strings.Contains(start, "2 proposals wait for your answer: 2 by your owner.") || strings.Contains(start, "coffee") || strings.Contains(start, "brother") {
		t.Errorf("a session begins with %s", start)
	}
	c := startMCPIn(t, relaytest.Agent(), p.env, "--owner", relaytest.Owner().Pub, "--relay", p.relay.URL)
	ids := map[string]string{}
	for _, one := range reply(t, c.call("memory_proposals", nil, false))["proposals"].([]any) {
		item := one.(map[string]any)
		ids[item["slug"].(string)] = item["id"].(string)
		if item["by"] != "owner" || item["text"] == nil {
			t.Errorf("%v", item)
		}
	}
	done := reply(t, c.call("memory_accept", map[string]any{"id": ids["mem/people/ana"]}, false))
	if done["slug"] != "mem/people/ana" || done["trust"] != "observed" {
		t.Errorf("%v", done)
	}
	c.call("memory_reject", map[string]any{"id": ids["mem/people/bo"], "reason": "he is her cousin"}, false)
	if text := c.call("memory_accept", map[string]any{"id": ids["mem/people/bo"]}, true); !strings.Contains(text, "conflict") {
		t.Error(text)
	}
	if left := reply(t, c.call("memory_proposals", nil, false))["proposals"].([]any); len(left) != 0 {
		t.Errorf("%v", left)
	}
	_ = c.session.Close()
	c.ended()
	if strings.Contains(c.stderr.String(), "coffee") || strings.Contains(c.stderr.String(), "mem/people") {
		t.Errorf("the log tells %s", c.stderr)
	}

	if got := p.owns("", "mem", "get", "people/ana"); !strings.Contains(got, "Ana drinks coffee.") || !strings.Contains(got, "source: \"owner:npub1") && !strings.Contains(got, "source: owner:npub1") {
		t.Errorf("the memory is %s", got)
	}
	answers := p.owns("", "proposals", "ls", "--json")
	if strings.Count(answers, `"accepted": true`) != 1 || !strings.Contains(answers, `"reason": "he is her cousin"`) {
		t.Errorf("the owner reads %s", answers)
	}
	if again := p.hook("claude", "session-start", `{"session_id":"t","source":"startup","cwd":"`+p.folder+`"}`); strings.Contains(again, "proposal") {
		t.Errorf("the next session begins with %s", again)
	}
}

// TestOwnersWordAtTheNextPrompt: while the server runs, what the owner corrects is told at
// the next prompt of a session that was shown the memory, and beside it by the tools; what
// they remove, by none.
func TestOwnersWordAtTheNextPrompt(t *testing.T) {
	p := newCorrecting(t)
	p.does("", "mem", "set", "core", "I am Sami.")
	p.does("", "mem", "set", "people/ana", "Ana drinks tea in the morning.")
	p.does("", "mem", "set", "people/bo", "Bo paints boats in the harbour.")
	c := startMCPIn(t, relaytest.Agent(), p.env, "--owner", relaytest.Owner().Pub, "--relay", p.relay.URL)
	prompt := func(text string) string {
		return p.hook("claude", "prompt", `{"session_id":"s","prompt":"`+text+`","cwd":"`+p.folder+`"}`)
	}
	read := func(slug string) map[string]any {
		return reply(t, c.call("memory_read", map[string]any{"slug": slug}, false))
	}
	c.call("memory_recall", map[string]any{"query": "What does Ana drink in the morning?"}, false) // the copy is whole
	if start := p.hook("claude", "session-start", `{"session_id":"s","source":"startup","cwd":"`+p.folder+`"}`); !strings.Contains(start, "I am Sami.") {
		t.Fatal(start)
	}
	if got := prompt("What does Ana drink in the morning?"); !strings.Contains(got, "tea") || strings.Contains(got, "owner says") {
		t.Fatal(got)
	}
	p.owns("Ana drinks coffee in the morning.", "propose", "edit", "people/ana", "-")
	for began := time.Now(); read("people/ana")["owner_says"] == nil; { // until the server has heard of it
		if time.Since(began) > relaytest.Patience {
			t.Fatal("the server does not hear of it")
		}
	}
	if got := prompt("Let us begin with the release."); !strings.Contains(got, "your owner says") || !strings.Contains(got, "| Ana drinks coffee in the morning.") {
		t.Errorf("the next prompt is told %q", got)
	}
	if got := reply(t, c.call("memory_recall", map[string]any{"query": "What does Ana drink in the morning?"}, false))["block"].(string); !strings.Contains(got, "tea in the morning.\nyour owner says (proposal ") {
		t.Errorf("recalled: %s", got)
	}
	if got := prompt("What does Bo paint in the harbour?"); !strings.Contains(got, "boats") {
		t.Fatal(got)
	}
	p.owns("", "propose", "rm", "people/bo")
	for began := time.Now(); read("people/bo")["text"] != ""; {
		if time.Since(began) > relaytest.Patience {
			t.Fatal("the server does not hear of it")
		}
	}
	if got := reply(t, c.call("memory_recall", map[string]any{"query": "What does Bo paint in the harbour?"}, false)); strings.Contains(got["block"].(string), "boats") {
		t.Errorf("recalled: %v", got)
	}
	if got := prompt("What does Bo paint in the harbour?"); !strings.Contains(got, "takes it back") || strings.Contains(got, "boats") {
		t.Errorf("the next prompt is told %q", got)
	}
	_ = c.session.Close()
	c.ended()
}

// TestOwnersAreAcceptedAtTheStart: a profile may have a server accept what the
// owner proposes, and nobody else's proposals.
func TestOwnersAreAcceptedAtTheStart(t *testing.T) {
	p := newCorrecting(t)
	p.does("", "mem", "set", "core", "I am Sami.")
	p.owns("", "propose", "set", "people/bo", "Bo is Ana's brother.")
	p.write("config/engramd/engramctl.toml", "[profiles.sami]\nkey_file = \""+filepath.Join(p.dir, "agent.key")+"\"\nowner = \""+relaytest.Owner().Pub+"\"\nrelays = [\""+p.relay.URL+"\"]\n[profiles.sami.proposals]\nowner = \"accept\"\n")
	c := startMCPIn(t, relaytest.Agent(), append(p.env, "XDG_CONFIG_HOME="+filepath.Join(p.dir, "config")), "--profile", "sami")
	c.stderr.await(t, "accepted=1")
	if got := reply(t, c.call("memory_read", map[string]any{"slug": "people/bo"}, false)); !strings.Contains(got["text"].(string), "brother") {
		t.Errorf("%v", got)
	}
	_ = c.session.Close()
	c.ended()
}

// TestNothingIsAcceptedInATrial: what doctor and setup look at accepts nothing, since the
// state that would know of it is thrown away.
func TestNothingIsAcceptedInATrial(t *testing.T) {
	p := newCorrecting(t)
	p.does("", "mem", "set", "core", "I am Sami.")
	p.owns("", "propose", "set", "people/bo", "Bo is Ana's brother.")
	p.write("config/engramd/engramctl.toml", "[profiles.sami]\nkey_file = \""+filepath.Join(p.dir, "agent.key")+"\"\nowner = \""+relaytest.Owner().Pub+"\"\nrelays = [\""+p.relay.URL+"\"]\nattest = true\n[profiles.sami.proposals]\nowner = \"accept\"\n")
	p.env = append(p.env, "XDG_CONFIG_HOME="+filepath.Join(p.dir, "config"), "ENGRAM_PROFILE=sami")
	start := func() {
		t.Helper()
		if got := p.run(strings.NewReader(`{"session_id":"s","source":"startup","cwd":"/"}`), "hook", "session-start", "--harness", "claude"); got.code != 0 || !strings.Contains(got.stdout, "I am Sami.") {
			t.Errorf("%+v", got)
		}
	}
	before := p.does("", "mem", "ls", "--all")
	p.env = append(p.env, "ENGRAM_HOOKS=try")
	start()
	p.env = append(p.env, "ENGRAM_HOOKS=")
	if after := p.does("", "mem", "ls", "--all"); after != before {
		t.Errorf("it wrote something:\n%s\n%s", before, after)
	}
	start()
	if after := p.does("", "mem", "ls", "--all"); !strings.Contains(after, "mem/people/bo") || !strings.Contains(after, "mem/journal/") {
		t.Errorf("a real start does not: %s", after)
	}
}
