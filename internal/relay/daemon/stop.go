package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
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

// shutdown ends gracefully, unless another signal than the first comes or the
// time is over.
func (p *process) shutdown(first Ending) error {
	total := p.cfg.Timeouts.Shutdown
	deadline := time.NewTimer(total)
	defer deadline.Stop()
	done := make(chan error, 1)
	// A fifth of timeouts.shutdown is kept for closing the database.
	go func() { done <- p.stop(total - total/5) }()
	for {
		select {
		case err := <-done:
			p.stopped = true
			return err
		case sig := <-p.signals:
			if sig != syscall.SIGHUP && first.Again(time.Now()) {
				p.abandoned = true
				return fmt.Errorf("ended by a second signal (%v); nothing that was acknowledged is lost", sig)
			}
		case <-deadline.C:
			p.abandoned = true
			return fmt.Errorf("did not finish within timeouts.shutdown (%v); nothing that was acknowledged is lost", total)
		}
	}
}

// stop takes the daemon down from the top: nobody new comes in, what is under
// way is answered, and only then the database closes.
//
//  1. /readyz fails, the ports are closed
//  2. imports, restores and snapshots stop, no other relay is followed any more, sessions answer what they have read and say goodbye (1001)
//  3. what sink takes down
func (p *process) stop(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p.surfaces.bridge.Drain()
	var surfaces sync.WaitGroup
	for _, srv := range p.ports.servers {
		surfaces.Go(func() { closeServer(ctx, srv) })
	}
	surfaces.Go(func() { p.control.Close() })
	surfaces.Go(p.snapshots.stop)
	surfaces.Go(p.replicas.close)
	surfaces.Go(func() {
		if err := p.surfaces.sessions.Shutdown(ctx); err != nil {
			p.log.Warn("clients were cut off: they did not take their answers in time", "err", err)
		}
	})
	surfaces.Wait()
	if err := p.sink(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	p.log.Info("stopped")
	return nil
}

// sink takes down what is below the surfaces, as far as it came up.
//
//  1. deadlines are looked after no more, the outbox stops; what it has not delivered is delivered after the next start
//  2. the write policy program ends: nobody is left to ask it
//  3. a node executes no more
//  4. the store commits what waits, checkpoints and closes; the time is noted
//  5. live dispatch ends
//  6. the events broker is told what it has not been told yet, for a second at most
func (p *process) sink() (err error) {
	p.contracts.close()
	p.rules.program.Close()
	p.member.close()
	if p.store != nil {
		err = p.store.Close()
	}
	p.clock.close()
	if p.attached {
		p.relay.Close()
	}
	p.broker.close()
	return err
}

// close gives back what start took, as far as it came, when no shutdown did.
// The end of the process frees the lock in any case.
func (p *process) close() (err error) {
	if p.abandoned {
		return nil
	}
	if !p.stopped {
		p.control.Close()
		p.snapshots.stop()
		p.replicas.close()
		err = p.ports.close()
		err = errors.Join(err, p.sink())
	}
	if p.lock != nil {
		err = errors.Join(err, p.lock.Unlock())
	}
	return err
}
