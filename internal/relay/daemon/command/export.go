package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay/config"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/management"
)

// exportCommand is `engramd export`: every event under the operator's own
// scope, gated ones included.
type exportCommand struct {
	*Main
	cfg     *config.Config
	history bool
	filters management.Filters
}

func (c *exportCommand) ParseFlags(args []string) (err error) {
	o := newOptions("export")
	o.fs.BoolVar(&c.history, "history", false, "superseded versions too")
	o.fs.Var(&c.filters, "filter", "only what a NIP-01 filter matches; may be given several times")
	if _, err = o.parse(args, 0); err != nil {
		return err
	}
	c.cfg, err = o.load(c.Env)
	return err
}

// Run streams one event per line, in the order in which they arrived. An error
// means that the output is not whole.
func (c *exportCommand) Run(ctx context.Context) (err error) {
	s, err := openAnyVersion(ctx, c.cfg, c.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out := bufio.NewWriterSize(c.Stdout, 1<<20)
	n := 0
	err = s.Export(ctx, gate.Operator(), c.history, c.filters.List(), func(json []byte) error {
		n++
		if _, err := out.Write(json); err != nil {
			return err
		}
		return out.WriteByte('\n')
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("after %d events: %w", n, err)
	}
	fmt.Fprintf(c.Stderr, "export: %d events\n", n)
	return nil
}
