package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"engramd/internal/relay/websocket"
)

// Together is how soon after a first signal to end another one is taken for the
// same: a supervisor may signal the process and its group, or the terminal the
// group and a wrapper the process.
const Together = time.Second

// Ending is the first signal to end; its zero value is none.
type Ending struct{ at time.Time }

// Again takes a signal, and reports whether it repeats an earlier one in
// earnest.
func (e *Ending) Again(now time.Time) bool {
	if e.at.IsZero() {
		e.at = now
		return false
	}
	return now.Sub(e.at) >= Together
}

// grace returns the part of timeouts.shutdown that is kept for closing the
// database.
func grace(total time.Duration) time.Duration { return total / 5 }

// shutdown ends gracefully, unless another signal than the first comes or the
// time is over.
func (c *process) shutdown(first Ending) error {
	total := c.cfg.Timeouts.Shutdown
	deadline := time.NewTimer(total)
	defer deadline.Stop()
	done := make(chan error, 1)
	go func() { done <- c.stop(total - grace(total)) }()
	for {
		select {
		case err := <-done:
			c.stopped = true
			return err
		case sig := <-c.Signals:
			if sig != syscall.SIGHUP && first.Again(time.Now()) {
				c.abandoned = true
				return fmt.Errorf("ended by a second signal (%v); nothing that was acknowledged is lost", sig)
			}
		case <-deadline.C:
			c.abandoned = true
			return fmt.Errorf("did not finish within timeouts.shutdown (%v); nothing that was acknowledged is lost", total)
		}
	}
}

// stop takes the daemon down from the top: nobody new comes in, what is under
// way is answered, and only then the database closes.
//
//  1. /readyz fails, the ports are closed
//  2. imports, restores and snapshots stop, no other relay is followed any more, sessions answer what they have read and say goodbye (1001)
//  3. deadlines are looked after no more, the outbox stops; what it has not delivered is delivered after the next start
//  4. the write policy program ends: nobody is left to ask it
//  5. the store commits what waits, checkpoints and closes
//  6. live dispatch ends
//  7. the events broker is told what it has not been told yet, for a second at most
func (c *process) stop(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.bridge.Drain()
	var surfaces sync.WaitGroup
	for _, srv := range c.servers {
		surfaces.Go(func() { closeServer(ctx, srv) })
	}
	surfaces.Go(func() { c.control.Close() })
	surfaces.Go(c.keeper.stop)
	surfaces.Go(c.replicas.Close)
	surfaces.Go(func() { c.closeSessions(ctx, c.sessions) })
	surfaces.Wait()
	c.stopContracts()
	c.endLed()
	c.outbox.Close()
	c.program.Close()
	c.closeLog()
	err := c.store.Close()
	c.relay.Close()
	c.closeBroker()
	if err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	c.log.Info("stopped")
	return nil
}

// endLed ends what this node does for others while it leads.
func (c *process) endLed() {
	for _, end := range []func(){c.stopFollowing, c.stopOutbox} {
		if end != nil {
			end()
		}
	}
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

func (c *process) closeSessions(ctx context.Context, s *websocket.Server) {
	if err := s.Shutdown(ctx); err != nil {
		c.log.Warn("clients were cut off: they did not take their answers in time", "err", err)
	}
}

// Close gives back what start took, as far as it came, when no shutdown did.
// The end of the process frees the lock in any case.
func (c *process) Close() error {
	if c.abandoned {
		return nil
	}
	var errs []error
	if !c.stopped {
		c.control.Close()
		c.keeper.stop()
		c.replicas.Close()
		for _, l := range []net.Listener{c.listener, c.scrape} {
			if l != nil {
				errs = append(errs, l.Close())
			}
		}
		if c.stopContracts != nil {
			c.stopContracts()
		}
		c.endLed()
		c.outbox.Close()
		c.program.Close()
		c.closeLog()
		if c.store != nil {
			errs = append(errs, c.store.Close())
		}
		if c.attached {
			c.relay.Close()
		}
		c.closeBroker()
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Unlock())
	}
	return errors.Join(errs...)
}
