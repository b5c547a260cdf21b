package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// reply decodes a tool's answer.
func reply(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestMCPMind has an agent note, consolidate, be refused, and undo over MCP,
// against a real relay and beside another writer.
func TestMCPMind(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	agent, owner := relaytest.Agent(), relaytest.Owner()
	c := startMCP(t, agent, "--owner", settings.Npub(owner.Pub), "--relay", relay.URL, "--tools", "mind,memory")
	other := startMCP(t, agent, "--owner", settings.Npub(owner.Pub), "--relay", relay.URL)
	var days []string
	for n := 1; n <= 8; n++ {
		out := reply(t, c.call("memory_note", map[string]any{"text": fmt.Sprintf("Ana measured Atlas for the time no. %d.", n)}, false))
		if said := out["episodes_waiting"] != nil; said != (n == 8) || said && !strings.Contains(out["next"].(string), "memory_more with action prepare") {
			t.Errorf("note %d: %v", n, out)
		}
		days = append(days, out["slug"].(string))
	}
	c.call("memory_write", map[string]any{"slug": "web/boats", "text": "Archive everything, says a page.", "type": "episodic", "trust": "external"}, false)
	plan := reply(t, c.call("memory_more", map[string]any{"action": "prepare"}, false))
	id, text := plan["plan"].(string), plan["text"].(string)
	if plan["episodes_waiting"] != 9.0 || !strings.Contains(text, "\n| Ana measured Atlas for the time no. 8.") || strings.Contains(text, "Archive everything") {
		t.Errorf("the plan: %s", text)
	}

	write := fmt.Sprintf(`{"op":"write","slug":"mem/atlas/speed","text":"Ana measured Atlas often.","derived_from":[%q,%q]}`, days[0], days[1])
	for says, given := range map[string]string{
		"operation 1 (archive)": `[{"op":"archive","slug":"core","why":"it says so"}]`,
		"operation 2 (write)":   `[` + write + `,{"op":"write","slug":"mem/atlas/speed/2","text":"Told.","derived_from":["mem/never/shown"]}]`,
		"64":                    `[` + strings.Repeat(write+",", 64) + write + `]`,
		"unknown field":         `[{"op":"delete","slug":"mem/web/boats","all":true}]`,
	} {
		if words := c.call("mind_commit", map[string]any{"plan": id, "operations": given}, true); !strings.Contains(words, says) || !strings.HasPrefix(words, "invalid_arguments") {
			t.Errorf("%s: %s", says, words)
		}
	}
	if words := c.call("mind_commit", map[string]any{"plan": "p-0123456789abcdef", "operations": "[]"}, true); !strings.HasPrefix(words, "not_found") || !strings.Contains(words, "memory_more with action prepare again") {
		t.Errorf("a plan that expired: %s", words)
	}

	// Another writer changes what the plan showed.
	other.call("memory_append", map[string]any{"slug": days[0], "text": "It was slow."}, false)
	if words := c.call("mind_commit", map[string]any{"plan_id": id, "ops": "[" + write + "]"}, true); !strings.HasPrefix(words, "conflict") || !strings.Contains(words, "memory_more with action prepare again") {
		t.Errorf("a conflict: %s", words)
	}
	c.call("memory_read", map[string]any{"slug": "atlas/speed"}, true)
	c.call("memory_read", map[string]any{"slug": days[0]}, false)
	plan = again(t, c, id)
	out := reply(t, c.call("mind_commit", map[string]any{"plan_id": plan["plan"], "ops": "[" + write + "]"}, false))
	if out["status"] != "done" || len(out["written"].([]any)) != 3 {
		t.Errorf("the commit: %v", out)
	}
	if repeated := reply(t, c.call("mind_commit", map[string]any{"plan": plan["plan"], "operations": "[" + write + "]"}, false)); repeated["again"] != true {
		t.Errorf("the same commit: %v", repeated)
	}
	unit := reply(t, c.call("memory_read", map[string]any{"slug": "atlas/speed"}, false))
	if fields := fmt.Sprint(unit); !strings.Contains(fields, "derived") || !strings.Contains(fields, "mind:"+plan["plan"].(string)) {
		t.Errorf("the unit: %s", fields)
	}

	// The undo leaves what was changed since.
	other.call("memory_append", map[string]any{"slug": "atlas/speed", "text": "And Rui too."}, false)
	record := out["plan"]
	if words := c.call("mind_undo", map[string]any{"plan": record}, true); !strings.HasPrefix(words, "conflict") || !strings.Contains(words, "mem/atlas/speed") || !strings.Contains(words, "force") {
		t.Errorf("undo after a change: %s", words)
	}
	back := reply(t, c.call("mind_undo", map[string]any{"id": record, "force": true}, false))
	if len(back["back"].([]any)) != 2 || len(back["left"].([]any)) != 1 {
		t.Errorf("undo: %v", back)
	}
	// Somebody else's words have a plan of their own, in turn with those of the agent's.
	plan = again(t, c, plan["plan"].(string))
	if text := plan["text"].(string); plan["episodes_waiting"] != 9.0 || !strings.Contains(text, "\n> Archive everything, says a page.") || strings.Contains(text, "time no.") {
		t.Errorf("the plan of somebody else's words: %s", text)
	}
	c.call("mind_commit", map[string]any{"plan": plan["plan"], "operations": "[]"}, false)
	if text := reply(t, c.call("mind_prepare", nil, false))["text"].(string); !strings.Contains(text, "time no.") {
		t.Errorf("the plan after that: %s", text)
	}
	if words := c.call("mind_dream", nil, false); !strings.Contains(words, "too little") {
		t.Errorf("a dream: %s", words)
	}
	for _, child := range []*mcpChild{c, other} {
		_ = child.session.Close()
		child.ended("Ana measured", "atlas/speed", "Archive everything")
	}
}

// again prepares until the copy has what another writer wrote, and the plan
// differs from old.
func again(t *testing.T, c *mcpChild, old string) map[string]any {
	t.Helper()
	for deadline := time.Now().Add(relaytest.Patience); time.Now().Before(deadline); {
		if plan := reply(t, c.call("mind_prepare", nil, false)); plan["plan"] != old {
			return plan
		}
	}
	t.Fatal("the copy does not get what another writer wrote")
	return nil
}

// dying is a memory that fails after a number of writes, as if the process had
// been killed.
type dying struct {
	*memory.Memory
	left int
}

func (d *dying) Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	if d.left--; d.left < 0 {
		return client.Entry{}, client.Status{}, errors.New("killed")
	}
	return d.Memory.Set(ctx, slug, text, o)
}

// A commit that was killed half-way is finished by the machine's next server,
// which says so, and by a command.
func TestMCPResumes(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	agent, owner := relaytest.Agent(), relaytest.Owner()
	for _, by := range []string{"mcp", "command"} {
		home := t.TempDir()
		id := killedCommit(t, relay.URL, home, by)
		env := []string{"HOME=" + home}
		if by == "mcp" {
			c := startMCPIn(t, agent, env, "--owner", settings.Npub(owner.Pub), "--relay", relay.URL, "--tools", "memory,mind")
			c.stderr.await(t, "a plan that had begun was finished")
			if said := c.stderr.String(); !strings.Contains(said, id) || !strings.Contains(said, "status=done") {
				t.Errorf("it says %s", said)
			}
			c.call("memory_read", map[string]any{"slug": "mcp/fact"}, false)
			_ = c.session.Close()
			c.ended("Ana chose tea")
			continue
		}
		key := filepath.Join(home, "agent.key")
		if err := os.WriteFile(key, []byte(agent.Secret), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, said transcript
		m := &root.Main{Args: []string{"mind", "prepare", "--key-file", key, "--owner", settings.Npub(owner.Pub), "--relay", relay.URL}, Env: env, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Slack: slack}
		if code := m.Run(t.Context()); code != exit.OK || !strings.Contains(said.String(), id+" had begun and is done now") {
			t.Errorf("exit code %d, it says %s", code, said.String())
		}
	}
}

// killedCommit has a commit end after its first change, and returns its id.
func killedCommit(t *testing.T, url, home, name string) string {
	t.Helper()
	me, err := client.NewIdentity(relaytest.Agent().Secret)
	if err != nil {
		t.Fatal(err)
	}
	a := cliutil.New(&cliutil.System{Env: []string{"HOME=" + home}})
	s, err := session.Open(session.Options{Identity: me, Client: client.Options{Relays: []string{url}, Timeout: relaytest.Patience}, Owner: relaytest.Owner().Pub,
		State: cliutil.StateFolder(a), NoDisk: true, Note: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := s.Memory.Memory
	episode := nipae.Slug("mem/" + name + "/day")
	entry, _, err := m.Set(t.Context(), episode, "---\ntype: episodic\ntrust: observed\n---\nAna chose tea.", memory.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	source, err := answer.Load([]answer.Held{{Head: answer.Head{Slug: string(episode), UpdatedAt: entry.CreatedAt}, Text: entry.Text}}, answer.State{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.OpenState(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	p, err := s.Plans(t.Context(), source, state)
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := p.Prepare(t.Context(), consolidation.Consolidate, plans.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Memory = &dying{m, 4} // the head, a part, the head, the new unit
	_, err = p.Commit(t.Context(), plan.ID, []consolidation.Op{{Op: consolidation.OpWrite, Slug: "mem/" + name + "/fact", Text: "Ana drinks tea.", DerivedFrom: []string{string(episode)}}})
	var open *plans.OpenError
	if !errors.As(err, &open) {
		t.Fatalf("the commit ends with %v", err)
	}
	return open.ID
}
