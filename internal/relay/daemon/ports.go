package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"engramd/internal/relay/config"
)

// ports are where the relay is reached, and who serves there.
type ports struct {
	public  net.Listener // websocket and HTTP
	scrape  net.Listener // metrics; nil when off
	servers []*http.Server
}

// listen takes the ports before the database is opened: with port 0, the
// relay's own names depend on what it got.
func (p *ports) listen(ctx context.Context, cfg *config.Config) (err error) {
	var lc net.ListenConfig
	if p.public, err = lc.Listen(ctx, "tcp", cfg.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if cfg.MetricsListen == "" {
		return nil
	}
	if p.scrape, err = lc.Listen(ctx, "tcp", cfg.MetricsListen); err != nil {
		return fmt.Errorf("metrics_listen: %w", err)
	}
	return nil
}

// serve answers on a port; failed is told when that ends by itself.
func (p *ports) serve(srv *http.Server, l net.Listener, failed chan<- error) {
	p.servers = append(p.servers, srv)
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}()
}

// address returns the address that the public port really has.
func (p *ports) address() netip.AddrPort {
	ap, _ := netip.ParseAddrPort(p.public.Addr().String()) // a TCP listener's address always is one
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// urls returns the addresses that the relay's page tells people.
func (p *ports) urls(cfg *config.Config) []string {
	if len(cfg.PublicURL) > 0 {
		return cfg.PublicURL
	}
	return []string{"ws://" + p.public.Addr().String()}
}

// close gives the ports back that nobody serves.
func (p *ports) close() (err error) {
	for _, l := range []net.Listener{p.public, p.scrape} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// idleGrace is how long HTTP requests under way may take to end.
const idleGrace = 2 * time.Second

func closeServer(ctx context.Context, srv *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, idleGrace)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		_ = srv.Close() // cuts off who is still asking
	}
}

// beside is about how many files the relay has open beside its connections.
const beside = 64

// filesAtOnce warns where fewer connections can be open than the limits say: the rest
// waits in the system, and nobody is told.
func filesAtOnce(log *slog.Logger, open uint64, connections int) {
	if uint64(connections)+beside > open {
		log.Warn("fewer connections can be open than limits.connections says: raise the process's limit of open files (LimitNOFILE of the service, ulimit -n)",
			"open_files", open, "connections", connections)
	}
}
