package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/net/dns/dnsmessage"

	"engramd/internal/client/clienttest"
)

func TestNearby(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "0.0.0.0": true, "0.1.2.3": true, "10.1.2.3": true, "172.16.0.1": true, "172.31.255.255": true, "192.168.7.7": true,
		"169.254.169.254": true, "100.64.0.1": true, "100.127.255.255": true, "224.0.0.1": true, "239.1.1.1": true, "240.0.0.1": true, "255.255.255.255": true, "198.18.0.1": true,
		"::1": true, "::": true, "::127.0.0.1": true, "::ffff:127.0.0.1": true, "::ffff:192.168.1.1": true, "fe80::1%lo": true, "fec0::1": true, "fc00::1": true, "fd12::1": true, "ff02::1": true,
		"64:ff9b::127.0.0.1": true, "64:ff9b::10.0.0.1": true, "64:ff9b:1::8.8.8.8": true, "2002:7f00:1::": true, "2002:c0a8:101::1": true, "2001:0:1::1": true,
		"8.8.8.8": false, "172.32.0.1": false, "100.128.0.1": false, "192.169.0.1": false, "::ffff:8.8.8.8": false, "2606:4700::1111": false, "64:ff9b::8.8.8.8": false, "2002:808:808::1": false,
	} {
		if got := nearby(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// names is a resolver by which each name has these addresses, one after the other at
// each question, the last for ever.
func names(t *testing.T, of map[string][]string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	asked := map[string]int{}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.RecursionAvailable = true, true
			m.Additionals = nil
			if all := of[strings.TrimSuffix(q.Name.String(), ".")]; len(all) == 0 {
				m.RCode = dnsmessage.RCodeNameError
			} else if q.Type == dnsmessage.TypeA {
				at := netip.MustParseAddr(all[min(asked[q.Name.String()], len(all)-1)])
				asked[q.Name.String()]++
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: at.As4()}}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestMayCall(t *testing.T) {
	o := Options{Resolver: names(t, map[string][]string{"home.example": {"192.168.1.10"}, "moving.example": {"192.168.1.11", "192.168.1.12"}}),
		Relays: []string{"ws://127.0.0.1:7447/path", "wss://home.example", "ws://moving.example:81", "ws://[fd00::1]:82", "not a relay"}}
	for text, want := range map[string]error{
		"127.0.0.1:7447": nil, "[::ffff:127.0.0.1]:7447": nil, "127.0.0.1:7448": ErrNearby, "127.0.0.2:7447": ErrNearby, "[::1]:7447": ErrNearby, "0.0.0.0:7447": ErrNearby,
		"192.168.1.10:443": nil, "192.168.1.10:80": ErrNearby, "[fd00::1]:82": nil, "[64:ff9b::127.0.0.1]:7447": ErrNearby, "8.8.8.8:22": nil,
	} {
		if got := o.mayCall(t.Context(), netip.MustParseAddrPort(text)); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	// What a configured relay is called stands for one address at a time.
	for i, text := range []string{"192.168.1.11:81", "192.168.1.12:81"} {
		if err := o.mayCall(t.Context(), netip.MustParseAddrPort(text)); err != nil {
			t.Errorf("at its address %d: %v", i+1, err)
		}
	}
	if err := o.mayCall(t.Context(), netip.MustParseAddrPort("192.168.1.11:81")); !errors.Is(err, ErrNearby) {
		t.Errorf("where it was before: %v", err)
	}
	o.Near = anywhere
	if err := o.mayCall(t.Context(), netip.MustParseAddrPort("10.0.0.1:1")); err != nil {
		t.Errorf("what is allowed: %v", err)
	}
}

// What a proxy is asked for is looked at by name.
func TestMayAskFor(t *testing.T) {
	o := Options{Resolver: names(t, map[string][]string{"home.example": {"10.0.0.7"}, "far.example": {"8.8.8.8"}})}
	for text, want := range map[string]error{
		"http://home.example/x": ErrNearby, "http://169.254.169.254/latest": ErrNearby, "https://[fd00::1]": ErrNearby, "https://far.example": nil, "https://unknown.example": nil,
		"http://127.1": ErrNearby, "http://0x7f.1:81": ErrNearby, "http://2130706433": ErrNearby, "http://0177.0.0.1.": ErrNearby, "http://127.0.0.1.": ErrNearby, "http://\uff11\uff12\uff17.\uff11": ErrNearby,
		"http://127\u30021": ErrNearby, "http://intranet": ErrNearby, "http://intranet.": ErrNearby, "http://a.LOCALHOST": ErrNearby, "https://1.unknown.example": nil, "https://unknown.xn--p1ai": nil,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.mayAskFor(t.Context(), u); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// A list cannot have this machine called, by whatever name: neither by websocket nor
// over HTTP, and not by a name that stood for another address when it was looked up
// before. What is configured is called wherever it is.
func TestListedRelaysNearbyAreNotCalled(t *testing.T) {
	var called atomic.Int32
	victim := clienttest.Start(t, &clienttest.Fake{HTTP: func(w http.ResponseWriter, r *http.Request) {
		called.Add(1)
		http.NotFound(w, r)
	}})
	_, port, _ := strings.Cut(strings.TrimPrefix(victim, "ws://"), ":")
	resolver := names(t, map[string][]string{"rebinds.example": {"8.8.8.8", "127.0.0.1"}, "here.example": {"127.0.0.1"}})
	if all, err := resolver.LookupNetIP(t.Context(), "ip4", "rebinds.example"); err != nil || nearby(all[0]) {
		t.Fatalf("%v, %v", all, err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "here.example", "rebinds.example"} {
		listed := "ws://" + host + ":" + port + "/cgi-bin/reboot"
		directory := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true, Events: []*nostr.Event{clienttest.RelayList(t, time.Now().Unix(), nostr.Tag{"r", listed})}})
		fenced := func(o *Options) { o.Near, o.Resolver = nil, resolver }
		c := clientFor(t, who(t, "owner"), []string{directory}, fenced)
		if err := c.Discover(t.Context(), who(t, "agent").PubKey()); err != nil || len(c.Targets()) != 2 {
			t.Fatalf("%s: %v, %v", host, err, c.Relays())
		}
		a, err := c.Ask(t.Context(), nostr.Filter{Kinds: []int{30174}, Authors: []string{who(t, "agent").PubKey()}})
		if err != nil || len(a.Relays) != 2 || !errors.Is(a.Relays[1].Err, ErrNearby) {
			t.Errorf("%s: %v, %+v", host, err, a.Relays)
		}
		if _, err := c.Info(t.Context(), listed); !errors.Is(err, ErrNearby) {
			t.Errorf("%s: its document: %v", host, err)
		}
		if n := called.Load(); n != 0 {
			t.Errorf("%s: called %d times", host, n)
			called.Store(0)
		}
		// Configured, it is called; and then a list may name it, too.
		c = clientFor(t, who(t, "owner"), []string{directory, victim}, fenced)
		if err := c.Discover(t.Context(), who(t, "agent").PubKey()); err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		if n := called.Load(); n == 0 {
			t.Errorf("%s: the configured relay is not called", host)
		}
		if a, _ := c.Ask(t.Context(), nostr.Filter{Kinds: []int{30174}}); len(a.Relays) == 3 && errors.Is(a.Relays[2].Err, ErrNearby) && host != "0.0.0.0" {
			t.Errorf("%s: at a configured relay's address: %v", host, a.Relays[2].Err)
		}
		called.Store(0)
	}
}
