package main

import (
	"context"

	"engramd/internal/cli/exit"
)

// writeProfile writes the profile into the configuration file.
func (s *setup) writeProfile(context.Context) error {
	before, err := fileText(s.config)
	if err != nil {
		return exit.BadUsage(err)
	}
	after, err := withProfile(before, s.name, s.want)
	if err != nil {
		return exit.Usagef("%s: %w", s.config, err)
	}
	if before == after {
		return s.step("profile", "%s is in %s", s.name, s.config)
	}
	if err := s.write(s.config, before, after, 0o600); err != nil {
		return exit.BadUsage(err)
	}
	return s.step("profile", "%s %s %s", s.name, s.would("written to", "be written to"), s.config)
}
