package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/exit"
)

// attestFlag is --attest.
func (a *app) attestFlag(c *cobra.Command) {
	c.Flags().BoolFunc("attest", "sign where the session continues from, in an archived note (attest in a profile)", func(text string) error {
		on, err := strconv.ParseBool(text)
		a.Flags.Attest = &on
		return err
	})
}

// attests reports whether the start of a session is to be attested. Only the agent
// can: an owner's profile that says so means nothing, and the flag is a mistake.
func (a *app) attests(m *session.Memory) (bool, error) {
	if a.Flags.Attest != nil {
		if *a.Flags.Attest && !m.Writable() {
			return false, exit.Usagef("--attest: this key is the owner's, and only the agent signs what it has written")
		}
		return *a.Flags.Attest, nil
	}
	profile, err := a.Profile()
	return profile.Attest && m.Writable(), err
}
