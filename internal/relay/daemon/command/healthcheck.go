package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"engramd/internal/relay/config"
)

// healthcheckCommand is `engramd healthcheck`, for container images that have
// no other program in them: it asks /readyz of the relay that runs with the
// same configuration.
type healthcheckCommand struct {
	*Main
	cfg *config.Config
}

func (c *healthcheckCommand) ParseFlags(args []string) (err error) {
	o := newOptions("healthcheck")
	if _, err = o.parse(args, 0); err != nil {
		return err
	}
	c.cfg, err = o.load(c.Env)
	return err
}

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
