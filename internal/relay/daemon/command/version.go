package command

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"engramd/internal/relay/daemon/wiring"
)

// versionCommand is `engramd version`.
type versionCommand struct{ *Main }

// ParseFlags takes nothing.
func (c *versionCommand) ParseFlags(args []string) error {
	if len(args) > 0 {
		return wiring.Usage(fmt.Errorf("unexpected argument %q", args[0]))
	}
	return nil
}

// Run prints one line: version, compiler, platform and build tags, which decide
// whether search is there and how fast signatures are checked.
func (c *versionCommand) Run(context.Context) error {
	tags := "none"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" && s.Value != "" {
				tags = s.Value
			}
		}
	}
	_, err := fmt.Fprintf(c.Stdout, "engramd %s (%s, %s/%s, tags: %s)\n", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, tags)
	return err
}
