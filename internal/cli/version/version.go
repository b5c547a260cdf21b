// Package version prints the version: engramctl version.
package version

import (
	"context"
	"engramd/internal/cli/cliutil"
	"runtime"

	"github.com/spf13/cobra"
)

// New returns engramctl version.
func New(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:     "version",
		Short:   "Print version and platform",
		Example: "  engramctl version",
	}, func(context.Context, []string) error {
		return env.Print("engramctl %s (%s, %s/%s)\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	})
}
