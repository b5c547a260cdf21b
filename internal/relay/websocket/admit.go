package websocket

import (
	"iter"
	"net/netip"
	"sync"

	"github.com/gorilla/websocket"

	"engramd/internal/relay/fairness"
)

// admission counts open connections, all of them and by address.
type admission struct {
	mu     sync.Mutex
	total  int
	byAddr map[string]int
}

// wideFactor is how many times as many connections an IPv6 /48 may have as one
// of its /64s: who rents a server often has a /64 and hundreds of strangers
// beside it, and who has the whole /48 is still one.
const wideFactor = 4

// places returns what a connection counts under, with how many times the bound
// of an address: its address or /64, and the /48 of that. Exempt peers and
// those that cannot be told apart count in the total only.
func places(who fairness.Who) iter.Seq2[string, int] {
	return func(yield func(place string, times int) bool) {
		switch {
		case who.Exempt || who.Share == fairness.Local:
		case who.Part == "":
			yield(who.Share, 1)
		default:
			_ = yield(who.Part, 1) && yield(who.Share, wideFactor)
		}
	}
}

// enter admits a connection, or says which bound is reached: "total" or
// "address".
func (a *admission) enter(who fairness.Who, lim *Limits) (refused string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if lim.Connections > 0 && a.total >= lim.Connections {
		return "total"
	}
	for place, times := range places(who) {
		if lim.PerAddress > 0 && a.byAddr[place] >= times*lim.PerAddress {
			return "address"
		}
	}
	for place := range places(who) {
		a.byAddr[place]++
	}
	a.total++
	return ""
}

// leave is called once for every connection admitted, with whom it entered as.
func (a *admission) leave(who fairness.Who) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total--
	for place := range places(who) {
		if a.byAddr[place]--; a.byAddr[place] <= 0 {
			delete(a.byAddr, place)
		}
	}
}

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
