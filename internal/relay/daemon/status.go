package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
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

// ParseFlags reads the command line and the configuration.
func (c *statusCommand) ParseFlags(args []string) (err error) {
	o := newOptions("status")
	o.fs.BoolVar(&c.json, "json", false, "the whole report as one JSON object")
	o.fs.IntVar(&c.top, "top", defaultTop, "so many addresses, connections and slow reads, 100 at most")
	if _, err = o.parse(args, 0); err != nil {
		return err
	}
	if c.top < 1 || c.top > status.MostTop {
		return usage(fmt.Errorf("--top must be 1 to %d", status.MostTop))
	}
	c.cfg, err = o.load(c.Env)
	return err
}

// Run asks the daemon and prints what it says.
func (c *statusCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, errors.New("the daemon does not answer"))
	defer cancel()
	raw, err := control.Ask(ctx, c.cfg.Data, orderStatus, statusArgs{c.top})
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

// errStarting means that there is nothing to tell yet.
var errStarting = errors.New("the daemon is starting")

// orderStatus is the order of this command to a running daemon.
const orderStatus = "status"

// statusArgs are those of orderStatus.
type statusArgs struct {
	Top int `json:"top,omitempty"` // how much of each list
}

// statusOrders makes reports. They are made on the control socket's goroutines,
// and read no configuration, which a reload replaces.
func (c *process) statusOrders() []control.Order {
	started, dir := time.Now(), c.cfg.Data
	return []control.Order{control.NewOrder(orderStatus, func(ctx context.Context, args statusArgs) (any, error) {
		if !c.up.Load() {
			return nil, errStarting
		}
		s := status.Sources{
			Version: c.Version, Started: started, Ready: c.bridge.Ready, Disk: func() int64 { return freeBytes(dir) },
			Sessions: c.sessions, Relay: c.relay, Store: c.store, Metrics: c.metrics, Replicas: c.replicas, Cluster: c.clusterStatus,
		}
		return s.Report(ctx, args.Top)
	})}
}

// Close has nothing to give back.
func (c *statusCommand) Close() error { return nil }
