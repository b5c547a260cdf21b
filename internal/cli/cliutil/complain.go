package cliutil

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
)

// Complain says on stderr why a command failed.
func Complain(e *Env, cmd *cobra.Command, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(e.Err(), "%s: %s\n", cmd.CommandPath(), settings.Redact(line))
	}
	if errors.As(err, &exit.UsageError{}) && !e.Started {
		fmt.Fprintf(e.Err(), "Try: %s --help\n", cmd.CommandPath())
	}
}
