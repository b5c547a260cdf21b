package websocket

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/gorilla/websocket"
)

// TestBlockedAddresses: who is connected is closed, who comes is not let in,
// and who was neither meant nor blocked any more goes on.
func TestBlockedAddresses(t *testing.T) {
	addrs := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	next := 0
	r := start(t, &fake{}, Options{Addr: func(*http.Request) netip.Addr { return addrs[next] }})
	bad := r.dial(t)
	next = 1
	good := r.dial(t)
	r.SetBlocked(func(a netip.Addr) bool { return a == addrs[0] })
	bad.expect(`["NOTICE","blocked: the operator has blocked your address"]`)
	if code, _ := bad.closed(); code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d", code)
	}
	good.nothingBefore()
	next = 0
	late, _, err := websocket.DefaultDialer.Dial(r.url, nil) // past the hook, as an upgrade under way is
	if err == nil {
		if _, text, err := late.ReadMessage(); err == nil {
			t.Errorf("a blocked address is greeted with %s", text)
		}
		_ = late.Close()
	}
	r.SetBlocked(nil)
	r.dial(t).nothingBefore()
}
