package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
)

// attestFlag is --attest.
func attestFlag(env *cliutil.Env, c *cobra.Command) {
	c.Flags().BoolFunc("attest", "sign where the session continues from, in an archived note (attest in a profile)", func(text string) error {
		on, err := strconv.ParseBool(text)
		env.Flags.Attest = &on
		return err
	})
}

// attests reports whether the start of a session is to be attested. Only the agent
// can: an owner's profile that says so means nothing, and the flag is a mistake.
func attests(env *cliutil.Env, m *session.Memory) (bool, error) {
	if env.Flags.Attest != nil {
		if *env.Flags.Attest && !m.Writable() {
			return false, exit.Usagef("--attest: this key is the owner's, and only the agent signs what it has written")
		}
		return *env.Flags.Attest, nil
	}
	profile, err := env.Profile()
	return profile.Attest && m.Writable(), err
}
