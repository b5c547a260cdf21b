package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/status"
)

// statusCommand is `engramd status`: who is connected to the running daemon,
// what is slow in it, and how full it is.
type statusCommand struct {
	*Main
	cfg  *config.Config
	json bool
	top  int
}

// defaultTop is how much of each list is printed unless told otherwise.
const defaultTop = 10

func (c *statusCommand) ParseFlags(args []string) (err error) {
	o := newOptions("status")
	o.fs.BoolVar(&c.json, "json", false, "the whole report as one JSON object")
	o.fs.IntVar(&c.top, "top", defaultTop, "so many addresses, connections and slow reads, 100 at most")
	if _, err = o.parse(args, 0); err != nil {
		return err
	}
	if c.top < 1 || c.top > status.MostTop {
		return wiring.Usage(fmt.Errorf("--top must be 1 to %d", status.MostTop))
	}
	c.cfg, err = o.load(c.Env)
	return err
}

// Run asks the daemon and prints what it says.
func (c *statusCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, errors.New("the daemon does not answer"))
	defer cancel()
	raw, err := control.Ask(ctx, c.cfg.Data, orders.Status, orders.StatusArgs{Top: c.top})
	var unreachable *control.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return fmt.Errorf("no relay runs on the data folder %s", c.cfg.Data)
	case err != nil:
		return err
	}
	if c.json {
		_, err := fmt.Fprintf(c.Stdout, "%s\n", raw)
		return err
	}
	var r status.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("the daemon's report: %w", err)
	}
	return r.WriteText(c.Stdout, c.top)
}

// statusTimeout bounds how long the daemon may take.
const statusTimeout = 30 * time.Second
