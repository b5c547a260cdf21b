package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// Addresses: the victim's, the one of 100 connections, and the first of the ten.
var (
	victimIP = net.IPv4(127, 0, 9, 9)
	oneIP    = net.IPv4(127, 0, 1, 1)
)

func tenIP(i int) net.IP { return net.IPv4(127, 0, 2, byte(1+i%10)) }

// perForm is how many connections attack from one address, and as many from ten.
const perForm = 100

// field is where the siege takes place.
type field struct {
	relay  *relaytest.Child
	addr   string // HOST:PORT
	agent  relaytest.Key
	owner  relaytest.Key
	admin  relaytest.Key
	random *rand.Rand
}

// newField starts a relay that holds events of which half have one tag and half
// another: what a filter for both must look through.
func newField(p *relaytest.Program, events int) (*field, error) {
	f := &field{
		agent: relaytest.NewKey(7001), owner: relaytest.NewKey(7002), admin: relaytest.NewKey(7003),
		random: rand.New(rand.NewPCG(1, 2)),
	}
	dir := p.TempDir()
	file, data := filepath.Join(dir, "events.jsonl"), filepath.Join(dir, "data")
	if err := f.write(file, events); err != nil {
		return nil, err
	}
	if r := relaytest.RunBinary(p, relaytest.Build{}, nil, nil, "import", "--data", data, file); r.Code != 0 {
		return nil, fmt.Errorf("import: %s", r.Stderr)
	}
	if err := os.Remove(file); err != nil {
		return nil, err
	}
	var err error
	f.relay, err = relaytest.Launch(p, relaytest.Options{Data: data, Config: strings.Join([]string{
		"[limits]", "loopback_exempt = false", "[admin]", `keys = ["` + f.admin.Pub + `"]`, "",
	}, "\n")})
	if err != nil {
		return nil, err
	}
	f.addr = strings.TrimPrefix(f.relay.URL, "ws://")
	return f, nil
}

// write makes the events, on all cores.
func (f *field) write(path string, events int) error {
	base := time.Now().Unix() - 500_000
	lines := make([][]byte, events)
	workers := runtime.GOMAXPROCS(0)
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := w; i < events; i += workers {
				tag := nostr.Tag{"t", "alpha"}
				if i%2 == 1 {
					tag = nostr.Tag{"r", "beta"}
				}
				ev := relaytest.Note(relaytest.NewKey(uint64(8000+i%300)), base+int64(i), fmt.Sprint("alpha note ", i), tag)
				lines[i] = []byte(ev.String() + "\n")
			}
		})
	}
	done.Wait()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for _, line := range lines {
		if _, err := w.Write(line); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return errors.Join(w.Flush(), out.Close())
}

// soldier is one attacking connection's place.
type soldier struct {
	*field
	n    int // among all
	ip   net.IP
	once sync.Once
	army *army
}

// engaged says that this one has begun what it is there for.
func (s *soldier) engaged() { s.once.Do(s.army.begun.Done) }

// fight is what one soldier does until its context ends. It comes again when the
// relay throws it out.
type fight func(ctx context.Context, s *soldier)

// army is all of them.
type army struct {
	begun, over sync.WaitGroup
}

// muster sends 100 from one address and 100 from ten.
func (f *field) muster(ctx context.Context, do fight) *army {
	a := &army{}
	a.begun.Add(2 * perForm)
	for i := range 2 * perForm {
		s := &soldier{field: f, n: i, ip: oneIP, army: a}
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

// local is the address a soldier connects from.
func (s *soldier) local() *net.TCPAddr { return &net.TCPAddr{IP: s.ip} }
