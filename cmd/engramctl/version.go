package main

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return a.Command(&cobra.Command{
		Use:     "version",
		Short:   "Print version and platform",
		Example: "  engramctl version",
		Args:    cobra.NoArgs,
	}, func(context.Context, []string) error {
		return a.Print("engramctl %s (%s, %s/%s)\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	})
}
