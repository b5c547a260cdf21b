package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/harness"
	"engramd/internal/agent/hook"
	"engramd/internal/agent/mcp"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/setup/wiring"
	"engramd/internal/cli/try"
)

const (
	// hookSlow is how long a hook may keep its harness waiting.
	hookSlow = 3 * time.Second
	// maxUnread is how many files are named that may bring servers and cannot be read.
	maxUnread = 8
	// maxInstructions is what harnesses take of a server's instructions.
	maxInstructions = 2 << 10
)

// harnesses looks at the settings of each harness that is used here.
func (d *doctor) harnesses(ctx context.Context) {
	self, err := cliutil.Self(d.env)
	if err != nil {
		return // programs has said so
	}
	_, file, _ := d.env.Profiles() // what is wrong with them was said
	roots := cliutil.Roots(d.env)
	server := cmp.Or(harness.Installed(harness.Disk{}, roots), harness.NewName())
	at, unread := harness.Elsewhere(harness.Disk{}, roots, cliutil.Folder(d.env), server)
	if n := len(unread); n > 0 {
		d.add("server", warned, "mend or remove them: a harness may read of them what this cannot", "settings that may bring an MCP server called as the agent's memory is cannot be read, from this folder on: %s (%d)", strings.Join(unread[:min(n, maxUnread)], ", "), n)
	}
	if len(at) > 0 {
		d.fail("server", exit.Usagef("%s has an MCP server %q, as the agent's memory is called here: a harness takes that one for it", at[0].File, server), "take it out of that file")
	}
	used := false
	for _, h := range harness.All() {
		e := harness.Entry{Binary: self, Name: server, Free: mcp.OwnTools}
		if name := d.env.Flags.Profile; name != "" && name != file.Profile {
			e.Profile = name
		}
		s, err := h.Check(harness.Disk{}, roots, e)
		if err != nil {
			d.fail(h.Name, exit.BadUsage(err), "mend the file, or remove it")
			continue
		}
		if !s.Found && len(s.Present) == 0 || h.Name == "generic" {
			continue
		}
		used = true
		by := h.Decided(harness.Disk{}, roots, s.Server, mcp.OwnTools)
		if b := by.Builtin; b != nil && !b.Off {
			d.add("builtin", untried, "engramctl setup "+h.Name+" --no-builtin-memory switches it off, engramctl import --from "+b.Import+" "+b.Where+" copies it", "%s keeps a memory of its own beside this one: %s in %s", h.Title, cliutil.Counted(b.Files, "file", "files"), b.Where)
		}
		if by.Plugin != "" {
			d.plugin(h, s, by.Plugin)
			continue
		}
		d.harness(ctx, h, s, by)
	}
	if !used {
		d.add("harness", warned, "engramctl setup HARNESS, with one of "+strings.Join(wiring.Names(), ", "), "no harness is used here")
	}
}

// plugin looks at a harness into which ours came as a plugin.
func (d *doctor) plugin(h harness.Harness, s harness.Status, remove string) {
	stopped(d, h, s)
	if len(s.Present) > 0 {
		d.add(h.Name, warned, remove+", or engramctl setup --remove "+h.Name, "%s has our plugin, and the entries of setup beside it: each hook runs twice", h.Title)
		return
	}
	d.add(h.Name, fine, "", "%s has our plugin", h.Title)
	d.add("permission", warned, remove+", then engramctl setup "+h.Name+" --allow", "%s asks for each tool of a plugin, unless a person has allowed it there", h.Title)
}

// stopped says why a harness does not run ours.
func stopped(d *doctor, h harness.Harness, s harness.Status) {
	for _, note := range s.Notes {
		d.add(h.Name, warned, "", "%s", note)
	}
}

// harness looks at one that is used.
func (d *doctor) harness(ctx context.Context, h harness.Harness, s harness.Status, by harness.Decided) {
	remedy := "engramctl setup " + h.Name
	stopped(d, h, s)
	switch {
	case len(s.Present) == 0:
		d.add(h.Name, warned, remedy, "%s is used here, and has no memory", h.Title)
		return
	case len(s.Present) == len(s.Edited) && !s.Installed:
		d.add(h.Name, warned, "take it out of the file, or "+remedy+" --force", "%s has no memory, and what stays of ours was changed by hand: %s", h.Title, strings.Join(s.Edited, ", "))
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
	if len(by.Asked) > 0 {
		d.add("permission", warned, remedy+" --allow", "%s asks before each use of %s, and refuses where nobody can answer", h.Title, strings.Join(by.Asked, ", "))
	} else if by.MayAsk {
		d.add("permission", fine, "", "%s lets the agent use %s without asking, and may ask before other tools", h.Title, cliutil.Counted(len(mcp.OwnTools), "tool for its own memory", "tools for its own memory"))
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
	began := time.Now()
	out, err := try.Run(ctx, d.env, try.Sample(d.env), false, s.Binary, try.OfProfile(s.Profile, "hook", string(event), "--harness", name)...)
	took := time.Since(began).Round(time.Millisecond)
	const check = "hooks"
	switch {
	case err != nil:
		d.fail(check, fmt.Errorf("%s %s: %w", name, event, err), "engramctl hook "+string(event)+" --harness "+name+" shows what it says")
	case event == hook.SessionStart && strings.Contains(out, hook.IsUnavailable):
		d.fail(check, fmt.Errorf("%s %s tells the agent that its memory is unavailable, after %v", name, event, took), "see the checks above")
	case took > d.env.Allow(hookSlow):
		d.add(check, warned, "see the relays above", "%s %s took %v", name, event, took)
	case len(s.Notes) > 0:
		d.add(check, untried, "", "%s %s took %v, started here: see above why %s does not start it", name, event, took, name)
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
		tools := ""
		if s, err := d.env.Settings(); err == nil && s.Agent != "" {
			tools = "memory" // an owner's server only reads
		}
		d.mcpServer(ctx, "", self, d.env.Flags.Profile, tools)
	}
}

// mcpServer starts a server as a harness does, and looks at how it introduces
// itself.
func (d *doctor) mcpServer(ctx context.Context, name, binary, profile, tools string) {
	tools = cmp.Or(tools, harness.DefaultTools)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"engramctl doctor","version":"1"}}}` + "\n"
	began := time.Now()
	out, err := try.Run(ctx, d.env, hello, true, binary, try.OfProfile(profile, "mcp", "--tools", tools)...)
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
