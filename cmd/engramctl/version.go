package main

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:     "version",
		Short:   "Print version and platform",
		Example: "  engramctl version",
		Args:    cobra.NoArgs,
	}, func(context.Context, []string) error {
		return a.print("engramctl %s (%s, %s/%s)\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	})
}
