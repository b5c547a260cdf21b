package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/status"
)

// statusCommand is `engramd status`: who is connected to the running daemon,
// what is slow in it, and how full it is.
type statusCommand struct {
	base
	json bool
	top  int
}

// defaultTop is how much of each list is printed unless told otherwise.
const defaultTop = 10

func (c *statusCommand) flags(fs *flag.FlagSet) int {
	fs.BoolVar(&c.json, "json", false, "the whole report as one JSON object")
	fs.IntVar(&c.top, "top", defaultTop, "so many addresses, connections and slow reads, 100 at most")
	return 0
}

func (c *statusCommand) check() error {
	if c.top < 1 || c.top > status.MostTop {
		return fmt.Errorf("--top must be 1 to %d", status.MostTop)
	}
	return nil
}

// Run asks the daemon and prints what it says.
func (c *statusCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, errors.New("the daemon does not answer"))
	defer cancel()
	var raw json.RawMessage
	if err := c.ask(ctx, orders.Status, orders.StatusArgs{Top: c.top}, &raw); err != nil {
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

// ask has the running relay do something, and reads its answer.
func (b *base) ask(ctx context.Context, order string, args, answer any) error {
	raw, err := control.Ask(ctx, b.cfg.Data, order, args, nil)
	if unreachable := new(control.UnreachableError); errors.As(err, &unreachable) {
		return fmt.Errorf("no relay runs on the data folder %s", b.cfg.Data)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

// statusTimeout bounds how long the daemon may take.
const statusTimeout = 30 * time.Second

// healthcheckCommand is `engramd healthcheck`, for container images that have
// no other program in them: it asks /readyz of the relay that runs with the
// same configuration.
type healthcheckCommand struct{ base }

// Run returns nil when the relay is ready.
func (c *healthcheckCommand) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(c.cfg.Listen)+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s %s", resp.Status, body)
	}
	_, err = fmt.Fprintln(c.Stdout, "ready")
	return err
}

// reachable turns an address to listen on into one to connect to.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if addr, err := netip.ParseAddr(host); host == "" || (err == nil && addr.IsUnspecified()) {
		host = "127.0.0.1"
		if addr.Is6() {
			host = "localhost" // may be an IPv6-only host
		}
	}
	return net.JoinHostPort(host, port)
}
