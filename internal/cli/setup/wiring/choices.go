package wiring

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"engramd/internal/agent/harness"
	"engramd/internal/agent/mcp"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/files/from"
)

// copied is a harness's own memory that is imported.
type copied struct {
	source, path string
	own          bool // these are the agent's own words
}

// chosen are the harnesses that settings are written for.
func (w *Wiring) chosen() (all []harness.Harness) {
	for _, name := range w.Names {
		if h, err := harness.Named(name); err == nil {
			all = append(all, h)
		}
	}
	return all
}

// Title is what the first harness is called by people; "" for none.
func (w *Wiring) Title() string {
	if all := w.chosen(); len(all) > 0 && all[0].Name != "generic" {
		return all[0].Title
	}
	return ""
}

// FindServer finds the name that an earlier run gave the MCP server, or makes one, and
// refuses one that something else has.
func (w *Wiring) FindServer(context.Context) error {
	roots := cliutil.Roots(w.Env)
	w.server = cmp.Or(harness.Installed(harness.Disk{}, roots), harness.NewName())
	if at, _ := harness.Elsewhere(harness.Disk{}, roots, cliutil.Folder(w.Env), w.server); len(at) > 0 {
		return exit.Usagef("%s has an MCP server %q, as the agent's memory is called here: a harness would take that one for it. Take it out and run setup again", at[0].File, w.server)
	}
	return nil
}

// FindAllow asks whether the agent may use its memory without asking.
func (w *Wiring) FindAllow(ctx context.Context) error {
	switch {
	case w.Allow != harness.Keep:
	case slices.ContainsFunc(w.chosen(), func(h harness.Harness) bool { by := w.decided(h); return by.Plugin == "" && len(by.Asked) > 0 }):
		yes, err := w.Agrees(ctx, "May your agent use its memory without asking?", true)
		if yes {
			w.Allow = harness.On
		}
		return err
	}
	return nil
}

// decided is what a person's settings of a harness say.
func (w *Wiring) decided(h harness.Harness) harness.Decided {
	return h.Decided(harness.Disk{}, cliutil.Roots(w.Env), w.server, mcp.OwnTools)
}

// FindBuiltin asks what becomes of what a harness remembers by itself.
func (w *Wiring) FindBuiltin(ctx context.Context) (err error) {
	w.muted = map[string]bool{}
	for _, h := range w.chosen() {
		by := w.decided(h)
		b := by.Builtin
		if b == nil {
			continue
		}
		if w.muted[h.Name] = w.NoBuiltin && !b.Off; !w.NoBuiltin && !b.Off && by.Plugin == "" {
			w.muted[h.Name], err = w.Agrees(ctx, fmt.Sprintf("%s keeps a memory of its own, in %s (%s), and is told to write there first. Enter keeps both. Switch it off?", h.Title, b.Where, cliutil.Counted(b.Files, "file", "files")), false)
		}
		it := copied{source: b.Import, path: b.Where}
		copies := false
		if err == nil && b.Files > 0 {
			copies, err = w.Agrees(ctx, fmt.Sprintf("Copy what %s has there into this memory?", h.Title), false)
		}
		if err == nil && copies {
			it.own, err = w.Agrees(ctx, from.WhoseWords, false)
			w.copied = append(w.copied, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Copy copies what harnesses remember by themselves, where that was agreed to.
func (w *Wiring) Copy(ctx context.Context) error {
	for _, c := range w.copied {
		if err := from.Own(ctx, w.Env, c.source, c.path, c.own); err != nil {
			w.Env.Note("%s is not copied in whole: %v", c.path, err)
		}
	}
	return nil
}
