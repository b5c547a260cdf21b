package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"engramd/internal/relay/store"
)

// aServerDoesNotSync simulates that a server of the log stops syncing while nodes run,
// which all of them are told. For ten minutes nothing changes, then nothing is written;
// reads, the lease and membership go on, and so does what calls use, which changes
// nothing. Whoever is told that it is mended goes on.
func (c *clocked) aServerDoesNotSync() error {
	ctx, a := context.Background(), c.hosts[0].up()
	tell := func(names ...string) {
		for _, h := range c.hosts {
			Unsynced(h.up(), names)
		}
	}
	takes := func(h *host) bool { return put(ctx, h.up(), "written") == nil }
	for minute := range 10 {
		tell("s1", fmt.Sprint("s", minute)) // it is told again and again, and not of the same ones
		for _, h := range c.hosts {
			if !takes(h) {
				return fmt.Errorf("%s takes nothing after %d minutes", h.o.Name, minute)
			}
		}
		time.Sleep(time.Minute)
	}
	for range 60 {
		for _, h := range c.hosts {
			if err := put(ctx, h.up(), "written"); !errors.Is(err, store.ErrUnsynced) {
				return fmt.Errorf("%s takes a write that would not last: %v", h.o.Name, err)
			}
			if err := h.up().Latest(ctx); err != nil {
				return fmt.Errorf("%s does not read: %w", h.o.Name, err)
			}
		}
		time.Sleep(time.Minute)
	}
	if err := a.Append(ctx, store.UseCalls{}, newTicket(nil)); err != nil {
		return fmt.Errorf("a call that reads: %w", err)
	}
	if err := c.members(3); err != nil {
		return err
	}
	if _, err := c.leader(); err != nil {
		return err
	}
	Unsynced(a, nil)
	if !takes(c.hosts[0]) || takes(c.hosts[1]) {
		return errors.New("who was told that it is mended does not write, or who was not writes")
	}
	tell()
	tell("s2")
	time.Sleep(9 * time.Minute)
	for _, h := range c.hosts {
		if !takes(h) {
			return fmt.Errorf("%s counts the time of before", h.o.Name)
		}
	}
	return nil
}

func TestServersThatDoNotSync(t *testing.T) {
	c := newClocked(Faults{}, "a", "b", "c")
	if err := c.run(t, c.aServerDoesNotSync); err != nil {
		t.Error(err)
	}
	if c = newClocked(Faults{TrustServers: true}, "a", "b", "c"); c.run(t, c.aServerDoesNotSync) == nil {
		t.Error("nodes that take writes all the same are not found")
	}
}
