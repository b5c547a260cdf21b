//go:build nightly

package events_test

import (
	"testing"
	"time"

	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// A read is charged for what it computes, and not for the time in which it had
// no processor.
func TestReadsAreChargedForProcessorTime(t *testing.T) {
	s := storetest.MustOpen(t)
	const long = 30 * time.Millisecond
	others := make(chan struct{})
	go func() {
		defer close(others)
		for start := time.Now(); time.Since(start) < long; {
		}
	}()
	waits, err := events.Charged(s, func() { <-others })
	if err != nil || waits > long/3 {
		t.Errorf("%v of waiting is charged for as %v (%v)", long, waits, err)
	}
	computes, err := events.Charged(s, func() {
		for start := time.Now(); time.Since(start) < 10*long; {
		}
	})
	if err != nil || computes < long/3 {
		t.Errorf("%v of computing is charged for as %v (%v)", 10*long, computes, err)
	}
}
