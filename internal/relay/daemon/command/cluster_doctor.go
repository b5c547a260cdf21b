package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/daemon/doctor"
)

// doctorTime is how long the log's servers may take to answer at all.
const doctorTime = 6 * time.Second

// doctor asks all nodes and all servers of the log, and says what to do.
func (c *clusterCommand) doctor(ctx context.Context) error {
	f, err := c.findings(ctx)
	if err != nil {
		return err
	}
	if err := f.WriteText(c.Stdout); err != nil {
		return err
	}
	if n := len(f.Advice()); n > 0 {
		return fmt.Errorf("to be done: %d", n)
	}
	return nil
}

// removeServer takes a server of the log out.
func (c *clusterCommand) removeServer(ctx context.Context) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	name := c.operands[0]
	err = conn.RemoveServer(ctx, name, c.yes)
	if errors.Is(err, jetstream.ErrFew) {
		return fmt.Errorf("%w; with --yes it is removed all the same, and the loss of another one stops all writes", err)
	}
	if err == nil {
		_, err = fmt.Fprintf(c.Stdout, "%s is removed: stop it, and engramd cluster doctor says when another one has its copy of the log\n", name)
	}
	return err
}

func (c *clusterCommand) findings(ctx context.Context) (f doctor.Findings, err error) {
	dialing, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	conn, err := c.dial(dialing)
	if errors.Is(err, jetstream.ErrOptions) || len(c.cfg.Cluster.URLs) == 0 {
		return f, err
	}
	if err != nil {
		f.Log = err
		return f, nil
	}
	defer conn.Close()
	f.Nodes, err = doctor.Ask(ctx, conn, doctor.Question{})
	f.Survey = conn.Survey(ctx)
	return f, err
}
