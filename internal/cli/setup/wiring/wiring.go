// Package wiring writes an agent's memory into the settings of harnesses, and asks what a
// person decides of them.
package wiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/agent/harness"
	"engramd/internal/agent/mcp"
	"engramd/internal/cli/ask"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
)

// Wiring is what is written into the settings of harnesses.
type Wiring struct {
	ask.Person
	Names      []string // of the harnesses
	Profile    string   // that they are to name; "" names none
	Dry, Force bool     // write nothing; take over what was changed by hand
	Allow      harness.Choice
	NoBuiltin  bool // switch off what harnesses remember by themselves

	server string          // what the MCP server is called
	muted  map[string]bool // harnesses whose own memory is switched off
	copied []copied
}

// Step says what a step did, in a line.
func Step(env *cliutil.Env, what, format string, args ...any) error {
	return env.Print("%-8s %s\n", what, fmt.Sprintf(format, args...))
}

// Names are those that can be named.
func Names() []string {
	var names []string
	for _, h := range harness.All() {
		names = append(names, h.Name)
	}
	return names
}

// Known checks the names of the command line, and makes them ours.
func Known(names []string) error {
	for i, name := range names {
		if slices.Contains(harness.Printed(), name) {
			return exit.Usagef("the settings of %s are not written: engramctl setup %s --print prints what to put there", name, name)
		}
		h, err := harness.Named(strings.TrimSuffix(name, "-code"))
		if err != nil {
			return exit.BadUsage(err)
		}
		names[i] = h.Name
	}
	return nil
}

// Print prints what to put into the settings of programs by hand.
func (w *Wiring) Print() error {
	w.server = cmp.Or(harness.Installed(harness.Disk{}, cliutil.Roots(w.Env)), harness.NewName())
	e, err := w.entry()
	if err != nil {
		return err
	}
	if len(w.Names) == 0 {
		return exit.Usagef("--print: name one of %s, generic", strings.Join(harness.Printed(), ", "))
	}
	for _, name := range w.Names {
		text := harness.Print(name, e)
		if text == "" {
			return exit.Usagef("--print: %q is none of %s, generic; engramctl setup %s --dry-run shows what would be written", name, strings.Join(harness.Printed(), ", "), name)
		}
		if err := w.Env.Print("%s", text); err != nil {
			return err
		}
	}
	return nil
}

// entry is what harnesses are told to run.
func (w *Wiring) entry() (harness.Entry, error) {
	self, err := cliutil.Self(w.Env)
	if err != nil {
		return harness.Entry{}, fmt.Errorf("where this program is: %w", err)
	}
	e := harness.Entry{Binary: self, Force: w.Force, Name: w.server, Profile: w.Profile, Free: mcp.OwnTools, Allow: w.Allow}
	return e, nil
}

// Find looks for harnesses where none is named.
func (w *Wiring) Find(context.Context) error {
	if len(w.Names) > 0 {
		return nil
	}
	for _, h := range harness.All() {
		if h.Name != "generic" && h.Found(harness.Disk{}, cliutil.Roots(w.Env)) {
			w.Names = append(w.Names, h.Name)
		}
	}
	return nil
}

// Install writes our entries into the settings of each harness. All
// changes of one are known before the first is made.
func (w *Wiring) Install(context.Context) error {
	if len(w.Names) == 0 {
		return Step(w.Env, "harness", "none was found: name one of %s", strings.Join(Names(), ", "))
	}
	if path, named := w.Env.ConfigPath(); named {
		w.Env.Note("the profile is in %s: the harness needs ENGRAM_CONFIG=%s in its environment", path, path)
	}
	e, err := w.entry()
	if err != nil {
		return err
	}
	for _, name := range w.Names {
		h, err := harness.Named(name)
		if err != nil {
			return exit.BadUsage(err)
		}
		if plugin := w.decided(h).Plugin; plugin != "" {
			if err := Step(w.Env, name, "our plugin is installed in %s, and nothing else is written: with both, each hook would run twice. To have setup's in its place: %s", h.Title, plugin); err != nil {
				return err
			}
			continue
		}
		e.NoBuiltin = map[bool]harness.Choice{true: harness.On}[w.muted[name]]
		plan, err := h.Install(harness.Disk{}, cliutil.Roots(w.Env), e)
		if err != nil {
			return exit.Usagef("%s: %w", h.Title, err)
		}
		if err := w.change(name, plan, "its MCP server and hooks are there", "MCP server and hooks are in", "put MCP server and hooks into"); err != nil {
			return err
		}
		now := w.decided(h)
		if w.muted[name] && !now.Builtin.Off && !w.Dry {
			err = Step(w.Env, name, "%s's own memory stays on, since its settings say so themselves: change that by hand", h.Title)
		}
		if len(now.Asked) > 0 && !w.Dry {
			err = cliutil.FirstOf(err, Step(w.Env, name, "%s asks for each of %s, and refuses them where nobody can answer: --allow lets the agent use its memory", h.Title, cliutil.Counted(len(now.Asked), "tool", "tools")))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove takes our entries out of the settings of harnesses. What is
// wrong with one keeps nothing of ours in the others.
func (w *Wiring) Remove() error {
	names := w.Names
	if len(names) == 0 {
		names = Names()
	}
	var wrong error
	for _, name := range names {
		wrong = errors.Join(wrong, w.remove(name))
	}
	return wrong
}

// remove takes our entries out of the settings of one harness.
func (w *Wiring) remove(name string) error {
	h, err := harness.Named(name)
	if err != nil {
		return exit.BadUsage(err)
	}
	plan, err := h.Remove(harness.Disk{}, cliutil.Roots(w.Env), harness.Entry{Force: w.Force})
	if err != nil {
		return exit.Usagef("%s: %w", h.Title, err)
	}
	if len(w.Names) == 0 && len(plan.Changes) == 0 && len(plan.Edited) == 0 {
		return nil
	}
	return w.change(name, plan, "nothing of engramctl's is there", "MCP server and hooks are out of", "take MCP server and hooks out of")
}

// change makes, or shows, what is planned for one harness.
func (w *Wiring) change(name string, plan harness.Plan, nothing, did, would string) error {
	var paths []string
	for _, c := range plan.Changes {
		paths = append(paths, c.Path)
	}
	var err error
	switch {
	case len(paths) == 0 && len(plan.Edited) == 0 && len(plan.Notes) == 0:
		err = Step(w.Env, name, "%s", nothing)
	case len(paths) == 0:
	case w.Dry:
		err = cliutil.FirstOf(w.Env.Print("%s", harness.Diff(plan.Changes)), Step(w.Env, name, "would %s %s", would, strings.Join(paths, ", ")))
	default:
		if err = w.apply(plan.Changes); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		err = Step(w.Env, name, "%s %s", did, strings.Join(paths, ", "))
	}
	for _, edited := range plan.Edited {
		err = cliutil.FirstOf(err, Step(w.Env, name, "%s was changed by hand, and stays (--force takes it over)", edited))
	}
	for _, note := range plan.Notes {
		err = cliutil.FirstOf(err, Step(w.Env, name, "%s", note))
	}
	return err
}
