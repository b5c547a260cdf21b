package setup

import (
	"context"
	"strings"
	"unicode"

	"engramd/internal/cli/exit"
)

// maxName is how long an agent's name may be, in bytes.
const maxName = 64

// findName finds what the agent is called on this machine.
func (s *setup) findName(ctx context.Context) error {
	take := func(name string) error {
		if len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return exit.Usagef("a name is at most %d bytes that can be seen", maxName)
		}
		s.want.Name = name
		return nil
	}
	def := s.name
	if title := s.Title(); s.isDefault() && title != "" {
		def = title
	}
	switch {
	case s.f.name != "":
		return take(s.f.name)
	case s.old.Name != "" || s.old.Owner != "" && !s.f.newOwner:
		return nil
	case s.Answers():
		return s.Until(ctx, "A name for the agent, for you to see on this machine (Enter: "+def+"): ", "--name", func(text string) error {
			if text == "" {
				text = def
			}
			return take(text)
		})
	case s.f.newOwner:
		return take(def)
	}
	return nil
}
