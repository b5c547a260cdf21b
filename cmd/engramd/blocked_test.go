package main

import (
	"net/netip"
	"sync"
	"testing"
)

// toldBlocked are sessions that remember whether everybody was blocked last.
type toldBlocked struct{ all bool }

func (s *toldBlocked) SetBlocked(match func(netip.Addr) bool) {
	s.all = match != nil && match(netip.Addr{})
}

// TestBlockedWhileSessionsAreMade: another node's change of the lists may be
// executed while the sessions are being made; they know it then or at once.
func TestBlockedWhileSessionsAreMade(t *testing.T) {
	for range 200 {
		b, s := &blocked{}, &toldBlocked{}
		var both sync.WaitGroup
		both.Go(func() { b.set(func(netip.Addr) bool { return true }) })
		both.Go(func() { b.tell(s) })
		both.Wait()
		if !s.all {
			t.Fatal("the sessions do not know who is blocked")
		}
	}
}
