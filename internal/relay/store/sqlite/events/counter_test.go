package events_test

import (
	"sync"
	"testing"
	"time"
)

// counter is an Observer that counts.
type counter struct {
	changed chan struct{}

	mu       sync.Mutex
	commits  []int
	failed   int
	failedBy map[string]int
	removed  map[string]int
	retired  map[string]int // by class
	queue    int
}

func (c *counter) CommitDone(_ time.Duration, events int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok {
		c.failed++
		return
	}
	c.commits = append(c.commits, events)
}

func (c *counter) ReadWaited(string, time.Duration) {}

func (c *counter) QueryDone(string, time.Duration, string) {}

func (c *counter) Removed(reason string, n int) {
	c.mu.Lock()
	if c.removed == nil {
		c.removed = map[string]int{}
	}
	c.removed[reason] += n
	c.mu.Unlock()
	if c.changed != nil {
		c.changed <- struct{}{}
	}
}

func (c *counter) WriteFailed(cause string, events int) {
	c.mu.Lock()
	if c.failedBy == nil {
		c.failedBy = map[string]int{}
	}
	c.failedBy[cause] += events
	c.mu.Unlock()
}

func (c *counter) Rotten() {}

func (c *counter) Retired(class string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired == nil {
		c.retired = map[string]int{}
	}
	c.retired[class] += n
}

func (c *counter) QueueAdd(_ string, n int) {
	c.mu.Lock()
	c.queue += n
	c.mu.Unlock()
}

func (c *counter) get(reason string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removed[reason]
}

// wait waits until n rows were removed for the reason.
func (c *counter) wait(t *testing.T, reason string, n int) {
	t.Helper()
	for c.get(reason) < n {
		select {
		case <-c.changed:
		case <-time.After(time.Minute):
			t.Fatalf("%d removed for %s, want %d", c.get(reason), reason, n)
		}
	}
}
