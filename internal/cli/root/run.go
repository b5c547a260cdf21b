package root

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/session"
)

// Main is one run of the program.
type Main cliutil.System

// Run runs the command that Args name and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	env := cliutil.New((*cliutil.System)(m))
	root := New(env)
	root.SetArgs(withTexts(root, m.Args))
	execute := func() (*cobra.Command, error) {
		cmd, err := root.ExecuteContextC(ctx)
		if err != nil && !env.Started {
			err = exit.BadUsage(err) // cobra did not get as far as the command
		}
		return cmd, err
	}
	other := func(word string) bool {
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
	}
	if session.IsHook(m.Args, other) {
		return session.RunHook(env, execute)
	}
	cmd, err := execute()
	if err == nil {
		return exit.OK
	}
	code := exit.CodeOf(err)
	if ctx.Err() != nil {
		code = exit.Interrupted
	}
	cliutil.Complain(env, cmd, err)
	return code
}
