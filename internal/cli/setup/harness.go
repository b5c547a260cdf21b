package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/agent/harness"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/platform/service"
)

// HarnessNames are those that can be named.
func HarnessNames() []string {
	var names []string
	for _, h := range harness.All() {
		names = append(names, h.Name)
	}
	return names
}

// knownHarnesses checks the names of the command line.
func knownHarnesses(names []string) error {
	for _, name := range names {
		if _, err := harness.Named(name); err != nil {
			return exit.BadUsage(err)
		}
	}
	return nil
}

// entry is what harnesses are told to run.
func (s *setup) entry() (harness.Entry, error) {
	self, err := cliutil.Self(s.env)
	if err != nil {
		return harness.Entry{}, fmt.Errorf("where this program is: %w", err)
	}
	e := harness.Entry{Binary: self, Force: s.f.force}
	if !s.isDefault() {
		e.Profile = s.name
	}
	return e, nil
}

// findHarnesses looks for harnesses where none is named.
func (s *setup) findHarnesses(context.Context) error {
	if len(s.harnesses) > 0 {
		return nil
	}
	for _, h := range harness.All() {
		if h.Name != "generic" && h.Found(harness.Disk{}, cliutil.Roots(s.env)) {
			s.harnesses = append(s.harnesses, h.Name)
		}
	}
	return nil
}

// installHarnesses writes our entries into the settings of each harness. All
// changes of one are known before the first is made.
func (s *setup) installHarnesses(context.Context) error {
	if len(s.harnesses) == 0 {
		return s.step("harness", "none was found: name one of %s", strings.Join(HarnessNames(), ", "))
	}
	if path, named := s.env.ConfigPath(); named {
		s.env.Note("the profile is in %s: the harness needs ENGRAM_CONFIG=%s in its environment", path, path)
	}
	e, err := s.entry()
	if err != nil {
		return err
	}
	for _, name := range s.harnesses {
		h, err := harness.Named(name)
		if err != nil {
			return exit.BadUsage(err)
		}
		plan, err := h.Install(harness.Disk{}, cliutil.Roots(s.env), e)
		if err != nil {
			return exit.Usagef("%s: %w", h.Title, err)
		}
		if err := s.change(name, plan, "its MCP server and hooks are there", "MCP server and hooks are in", "put MCP server and hooks into"); err != nil {
			return err
		}
	}
	return nil
}

// removeHarnesses takes our entries out of the settings of harnesses. What is
// wrong with one keeps nothing of ours in the others.
func (s *setup) removeHarnesses(context.Context) error {
	names := s.harnesses
	if len(names) == 0 {
		names = HarnessNames()
	}
	var wrong error
	for _, name := range names {
		wrong = errors.Join(wrong, s.removeHarness(name))
	}
	err := s.env.Print("Keys, data, and the profile in %s stay; so does a relay that setup started (%s).\n", s.config, s.stopLocal())
	return cliutil.FirstOf(wrong, err)
}

// removeHarness takes our entries out of the settings of one harness.
func (s *setup) removeHarness(name string) error {
	h, err := harness.Named(name)
	if err != nil {
		return exit.BadUsage(err)
	}
	plan, err := h.Remove(harness.Disk{}, cliutil.Roots(s.env), harness.Entry{Force: s.f.force})
	if err != nil {
		return exit.Usagef("%s: %w", h.Title, err)
	}
	if len(s.harnesses) == 0 && len(plan.Changes) == 0 && len(plan.Edited) == 0 {
		return nil
	}
	return s.change(name, plan, "nothing of engramctl's is there", "MCP server and hooks are out of", "take MCP server and hooks out of")
}

// stopLocal is how a relay of setup --local is ended.
func (s *setup) stopLocal() string {
	m := services(s.env)
	if text, err := fileText(m.File()); err != nil || !service.Ours(text) {
		return "there is none"
	}
	return m.Stop()
}

// change makes, or shows, what is planned for one harness.
func (s *setup) change(name string, plan harness.Plan, nothing, did, would string) error {
	var paths []string
	for _, c := range plan.Changes {
		paths = append(paths, c.Path)
	}
	var err error
	switch {
	case len(paths) == 0 && len(plan.Edited) == 0 && len(plan.Notes) == 0:
		err = s.step(name, "%s", nothing)
	case len(paths) == 0:
	case s.f.dryRun:
		err = cliutil.FirstOf(s.env.Print("%s", harness.Diff(plan.Changes)), s.step(name, "would %s %s", would, strings.Join(paths, ", ")))
	default:
		if err = harness.Apply(plan.Changes); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		err = s.step(name, "%s %s", did, strings.Join(paths, ", "))
	}
	for _, edited := range plan.Edited {
		err = cliutil.FirstOf(err, s.step(name, "%s was changed by hand, and stays (--force takes it over)", edited))
	}
	for _, note := range plan.Notes {
		err = cliutil.FirstOf(err, s.step(name, "%s", note))
	}
	return err
}
