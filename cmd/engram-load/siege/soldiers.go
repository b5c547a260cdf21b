package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// target is what the attackers know of the relay: ws://HOST:PORT.
type target string

func (t target) addr() string { return strings.TrimPrefix(string(t), "ws://") }

func (t target) http(path string) string { return "http://" + t.addr() + path }

// soldier is one attacking connection's place.
type soldier struct {
	target
	n    int // among all
	ip   net.IP
	once sync.Once
	army *army
}

// engaged says that this one has begun what it is there for.
func (s *soldier) engaged() { s.once.Do(s.army.begun.Done) }

// struck counts a frame or request that went out.
func (s *soldier) struck() { s.army.strikes.Add(1) }

// local is the address a soldier connects from.
func (s *soldier) local() *net.TCPAddr { return &net.TCPAddr{IP: s.ip} }

// fight is what one soldier does until its context ends. It comes again when the
// relay throws it out.
type fight func(ctx context.Context, s *soldier)

// army is all of them.
type army struct {
	begun, over sync.WaitGroup
	strikes     atomic.Int64
}

// muster sends 100 from one address and 100 from ten.
func muster(ctx context.Context, t target, do fight) *army {
	a := &army{}
	a.begun.Add(2 * perForm)
	for i := range 2 * perForm {
		s := &soldier{target: t, n: i, ip: oneIP, army: a}
		if i >= perForm {
			s.ip = tenIP(i)
		}
		a.over.Go(func() {
			defer s.engaged()
			do(ctx, s)
		})
	}
	return a
}

// engaged waits until every one has begun, a few seconds at most: a relay that
// admits some of them late defends itself.
func (a *army) engaged() {
	all := make(chan struct{})
	go func() { a.begun.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(5 * time.Second):
	}
}

func (a *army) wait() { a.over.Wait() }
