package main

import (
	"bufio"
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
	agent  relaytest.Key
	owner  relaytest.Key
	admin  relaytest.Key
	random *rand.Rand
}

// What attackers may write: bytes of one address in an hour, and all of them
// together, of the room that the database has beyond what is in it.
const (
	addressBytes = 64 << 20
	roomBytes    = 256 << 20
)

// newField starts a relay that holds events of which half have one tag and half
// another: what a filter for both must look through. It knows the victim's key.
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
	held, err := os.Stat(filepath.Join(data, "engramd.db"))
	if err != nil {
		return nil, err
	}
	f.relay, err = relaytest.Launch(p, relaytest.Options{Data: data, Config: strings.Join([]string{
		"[limits]", "loopback_exempt = false", fmt.Sprint("bytes_per_address = ", addressBytes),
		"[store]", fmt.Sprint("max_bytes = ", held.Size()+roomBytes), "[admin]", `keys = ["` + f.admin.Pub + `", "` + f.agent.Pub + `"]`, "",
	}, "\n")})
	if err != nil {
		return nil, err
	}
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
