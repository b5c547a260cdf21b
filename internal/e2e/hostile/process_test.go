//go:build nightly

package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// Hostile clients run in a process of their own and at the lowest priority:
// outside of tests they have machines of their own, so what is measured beside
// them is the work that they cause the relay, not the work of causing it.
const (
	hostileName  = "E2E_HOSTILE"
	hostileURL   = "E2E_HOSTILE_URL"
	hostileBegun = "begun"
)

// together names the first four kinds at the same time: those that only wait.
const together = "four together"

// hostilesCalled returns the kinds that a name stands for.
func hostilesCalled(name string) []hostile {
	if name == together {
		return hostiles()[:4]
	}
	return slices.DeleteFunc(append(hostiles(), readAttacks()...), func(h hostile) bool { return h.name != name })
}

const ()

// unleash starts hostile clients and returns once they attack. end stops them
// and fails the test if the relay did something wrong.
func unleash(t *testing.T, relay *relaytest.Child, name string) (end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostileName+"="+name, hostileURL+"="+relay.URL)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stop, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != hostileBegun {
		t.Errorf("hostile clients: %s", lines.Text())
	}
	return func() {
		t.Helper()
		if err := stop.Close(); err != nil {
			t.Errorf("stop the hostile clients: %v", err)
		}
		rest, err := io.ReadAll(out)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", name, err, rest, relay.Log.Text())
		}
	}
}

// beHostile is all that the other process does. It ends when standard input
// does.
func beHostile(name, url string) (code int) {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		fmt.Println("priority:", err)
		return 1
	}
	stop := make(chan struct{})
	go func() {
		// Standard input is a pipe that the parent closes; a failure ends it too.
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	kinds := hostilesCalled(name)
	if len(kinds) == 0 {
		fmt.Println("no hostile client is called", name)
		return 1
	}
	var running, begun sync.WaitGroup
	errs := make(chan error, len(kinds))
	for _, h := range kinds {
		begun.Add(1)
		running.Go(func() {
			var once sync.Once
			ready := func() { once.Do(begun.Done) }
			defer ready()
			errs <- h.run(url, ready, stop)
		})
	}
	begun.Wait()
	fmt.Println(hostileBegun)
	running.Wait()
	for range kinds {
		if err := <-errs; err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	return code
}
