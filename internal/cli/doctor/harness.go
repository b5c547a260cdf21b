package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/harness"
	"engramd/internal/agent/hook"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/setup"
)

const (
	// hookSlow is how long a hook may keep its harness waiting.
	hookSlow = 3 * time.Second
	// maxInstructions is what harnesses take of a server's instructions.
	maxInstructions = 2 << 10
	// maxSaid is how much of a program's answer is read.
	maxSaid = 1 << 20
)

// harnesses looks at the settings of each harness that is used here.
func (d *doctor) harnesses(ctx context.Context) {
	self, err := cliutil.Self(d.env)
	if err != nil {
		return // programs has said so
	}
	_, file, _ := d.env.Profiles() // what is wrong with them was said
	used := false
	for _, h := range harness.All() {
		e := harness.Entry{Binary: self}
		if name := d.env.Flags.Profile; name != "" && name != file.Profile {
			e.Profile = name
		}
		s, err := h.Check(harness.Disk{}, cliutil.Roots(d.env), e)
		if err != nil {
			d.fail(h.Name, exit.BadUsage(err), "mend the file, or remove it")
			continue
		}
		if !s.Found && len(s.Present) == 0 || h.Name == "generic" {
			continue
		}
		used = true
		d.harness(ctx, h, s)
	}
	if !used {
		d.add("harness", warned, "engramctl setup HARNESS, with one of "+strings.Join(setup.HarnessNames(), ", "), "no harness is used here")
	}
}

// harness looks at one that is used.
func (d *doctor) harness(ctx context.Context, h harness.Harness, s harness.Status) {
	remedy := "engramctl setup " + h.Name
	for _, note := range s.Notes {
		d.add(h.Name, warned, "", "%s", note)
	}
	switch {
	case len(s.Present) == 0:
		d.add(h.Name, warned, remedy, "%s is used here, and has no memory", h.Title)
		return
	case !s.Installed:
		d.fail(h.Name, exit.Usagef("missing from its settings: %s", strings.Join(s.Missing, ", ")), remedy)
	case len(s.Edited) > 0:
		d.add(h.Name, warned, remedy+" --force", "changed by hand: %s", strings.Join(s.Edited, ", "))
		if withoutMind(s.Tools) {
			d.add(h.Name, warned, "add mind to the list behind --tools there", "its MCP server offers %s, and not the tools of the mind (docs/mind.md)", s.Tools)
		}
	case s.Outdated && withoutMind(s.Tools):
		d.add(h.Name, warned, remedy, "its MCP server was set up by an older version: it offers %s, and not the tools of the mind (docs/mind.md)", s.Tools)
	case s.Outdated:
		d.add(h.Name, warned, remedy, "its entries run %s%s, and not this program as it is set up", s.Binary, ofProfile(s.Profile))
	default:
		d.add(h.Name, fine, "", "MCP server and hooks are there: %s", strings.Join(s.Files, ", "))
	}
	if _, err := os.Stat(s.Binary); err != nil {
		d.fail("hooks", exit.Usagef("%s runs %s, which is not there", h.Title, s.Binary), remedy)
		return
	}
	for _, event := range []hook.Event{hook.SessionStart, hook.Prompt} {
		if slices.Contains(s.Present, string(event)) {
			d.hook(ctx, h.Name, s, event)
		}
	}
	d.mcpServer(ctx, h.Name, s.Binary, s.Profile, s.Tools)
}

// withoutMind reports whether a server has the tools of memory, and not those of
// the mind.
func withoutMind(tools string) bool {
	all := strings.Split(tools, ",")
	return slices.Contains(all, "memory") && !slices.Contains(all, "mind")
}

func ofProfile(name string) string {
	if name == "" {
		return ""
	}
	return " with profile " + name
}

// hook runs a hook as its harness does, with a sample, and measures.
func (d *doctor) hook(ctx context.Context, name string, s harness.Status, event hook.Event) {
	sample, _ := json.Marshal(map[string]string{"session_id": "engramctl-doctor", "cwd": d.env.Home(), "source": "startup", "prompt": "What do we know of this?"}) // texts always can be
	began := time.Now()
	out, err := d.try(ctx, string(sample), false, s.Binary, ofFlag(s.Profile, "hook", string(event), "--harness", name)...)
	took := time.Since(began).Round(time.Millisecond)
	const check = "hooks"
	switch {
	case err != nil:
		d.fail(check, fmt.Errorf("%s %s: %w", name, event, err), "engramctl hook "+string(event)+" --harness "+name+" shows what it says")
	case event == hook.SessionStart && strings.Contains(out, "[Agent Memory — unavailable]"):
		d.fail(check, fmt.Errorf("%s %s tells the agent that its memory is unavailable, after %v", name, event, took), "see the checks above")
	case took > d.env.Allow(hookSlow):
		d.add(check, warned, "see the relays above", "%s %s took %v", name, event, took)
	default:
		d.add(check, fine, "", "%s %s took %v", name, event, took)
	}
}

// server starts the MCP server of this program where no harness has one.
func (d *doctor) server(ctx context.Context) {
	if slices.ContainsFunc(d.found, func(f finding) bool { return f.Check == "mcp" }) {
		return
	}
	if self, err := cliutil.Self(d.env); err == nil {
		d.mcpServer(ctx, "", self, d.env.Flags.Profile, "")
	}
}

// mcpServer starts a server as a harness does, and looks at how it introduces
// itself.
func (d *doctor) mcpServer(ctx context.Context, name, binary, profile, tools string) {
	tools = cmp.Or(tools, harness.DefaultTools)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"engramctl doctor","version":"1"}}}` + "\n"
	began := time.Now()
	out, err := d.try(ctx, hello, true, binary, ofFlag(profile, "mcp", "--tools", tools)...)
	took := time.Since(began).Round(time.Millisecond)
	if name != "" {
		name += ": "
	}
	var answer struct {
		Result struct {
			Instructions string `json:"instructions"`
		} `json:"result"`
	}
	if err == nil && (json.Unmarshal([]byte(out), &answer) != nil || answer.Result.Instructions == "") {
		err = fmt.Errorf("it does not introduce itself")
	}
	switch size := len(answer.Result.Instructions); {
	case err != nil:
		d.fail("mcp", fmt.Errorf("%sthe MCP server: %w", name, err), "engramctl mcp --tools "+tools+", typed in a terminal, says why")
	case size > maxInstructions:
		d.add("mcp", warned, "bring engramctl up to date", "%sthe server's instructions have %d bytes, and harnesses cut them at %d", name, size, maxInstructions)
	default:
		d.add("mcp", fine, "", "%sthe server was there after %v; %d bytes of instructions", name, took, size)
	}
}

// ofFlag puts a profile before the words of a command.
func ofFlag(profile string, words ...string) []string {
	if profile == "" {
		return words
	}
	return append([]string{"--profile", profile}, words...)
}

// try runs one of our programs with a text on its stdin and returns what it says:
// all of it, or its first line. It has a state of its own, so that nothing is noted
// of a session that there never was, and it ends before try returns.
func (d *doctor) try(ctx context.Context, stdin string, line bool, program string, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "engramctl-doctor-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing of worth
	ctx, cancel := context.WithTimeout(ctx, d.env.Flags.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	// What ENGRAM_HOOKS switches off was said.
	cmd.Env = append(slices.DeleteFunc(slices.Clone(d.env.System.Env), func(kv string) bool { return strings.HasPrefix(kv, "ENGRAM_HOOKS=") }), "XDG_STATE_HOME="+dir)
	cmd.WaitDelay, cmd.Dir = time.Second, d.env.Dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	go func() {
		_, _ = in.Write([]byte(stdin)) // a program that does not read it says nothing either
		if !line {
			_ = in.Close()
		}
	}()
	var said bytes.Buffer
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxSaid)
	for said.Len() < maxSaid && lines.Scan() {
		said.Write(append(lines.Bytes(), '\n'))
		if line {
			break
		}
	}
	_ = in.Close()
	err = cmd.Wait()
	if ctx.Err() != nil {
		return "", fmt.Errorf("it did not end within %v", d.env.Flags.Timeout)
	}
	if err != nil && (!line || said.Len() == 0) {
		return "", fmt.Errorf("it failed: %w", err)
	}
	return said.String(), nil
}
