package websocket

import (
	"net/netip"

	"github.com/gorilla/websocket"
)

// SetBlocked closes every connection from an address that blocked names, with
// a NOTICE and 1008, and lets none of them in from now on: also not one whose
// upgrade is under way. nil blocks nobody.
func (s *Server) SetBlocked(blocked func(netip.Addr) bool) {
	s.mu.Lock()
	s.blocked = blocked
	var gone []*conn
	for c, addr := range s.conns {
		if s.isBlocked(addr) {
			gone = append(gone, c)
		}
	}
	s.mu.Unlock()
	for _, c := range gone {
		c.cut("blocked: the operator has blocked your address", websocket.ClosePolicyViolation)
	}
}

// isBlocked is called with mu held.
func (s *Server) isBlocked(addr netip.Addr) bool { return s.blocked != nil && s.blocked(addr) }
