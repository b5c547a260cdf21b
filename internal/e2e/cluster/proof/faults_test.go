package proof

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
	e2e "engramd/internal/e2e/rig"
)

// soaks is for tests that take longer than the others may.
func soaks(t *testing.T) {
	t.Helper()
	if !nodes.Soak() {
		t.Skip("a soak: make cluster-soak")
	}
	t.Parallel()
}

// TestServersCut: the server that leads and another one do not reach each other, either
// way or one way only, while both reach the third; and nodes whose servers do not hear
// them.
func TestServersCut(t *testing.T) {
	soaks(t)
	s := newStorm(t, nodes.Options{})
	s.calm(20)
	for range 3 {
		for _, cut := range nodes.Cuts() {
			s.strike(cut)
		}
	}
	s.judge()
}

// TestServerDiskFull: the disk of the server that leads the log is full. The others go
// on, and with room again it is one of them.
func TestServerDiskFull(t *testing.T) {
	if os.Getenv(e2e.InNamespace) == "" {
		soaks(t)
		e2e.RerunInNamespace(t)
		return
	}
	dir := t.TempDir()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println(e2e.NoMount, err)
		return
	}
	var disks []string
	for i := range 3 {
		disk := filepath.Join(dir, fmt.Sprint(i))
		err := os.Mkdir(disk, 0o700)
		if err == nil {
			err = syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m")
		}
		if err != nil {
			fmt.Println(e2e.NoMount, err)
			return
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
				t.Errorf("unmount: %v", err)
			}
		})
		disks = append(disks, disk)
	}
	fmt.Println(e2e.Mounted)
	s := newStorm(t, nodes.Options{Server: func(i int, settings *rig.Settings) { settings.Data = filepath.Join(disks[i], "data") }})
	s.calm(20)
	leads := s.Leader(stream)
	ballast := filepath.Join(disks[leads], "ballast")
	if err := fill(ballast); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.Until("another server leads", wait, func() error {
		if s.Leader(stream) == leads {
			return errors.New("it does not")
		}
		return nil
	})
	s.calm(20)
	t.Logf("the disk of %s is full: all acknowledge under another leader after %v", s.Name(leads), time.Since(began).Round(10*time.Millisecond))
	s.Kill(leads)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.Rig.Start(leads)
	s.Settle()
	s.Kill((leads + 1) % 3) // now it is needed
	s.calm(20)
	s.Rig.Start((leads + 1) % 3)
	s.Settle()
	s.judge()
}

// fill writes zeros until there is no room.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// TestClocksWrong: of the servers one is an hour ahead and one an hour behind; or of the
// nodes. The log's time stays right: keys are proved, and signed calls taken, by clients
// with the right time, whichever server leads.
func TestClocksWrong(t *testing.T) {
	wrong := map[int]time.Duration{1: time.Hour, 2: -time.Hour}
	for name, o := range map[string]nodes.Options{
		"servers": {Server: func(i int, settings *rig.Settings) { settings.Clock = wrong[i] }},
		"nodes":   {Clocks: wrong},
	} {
		t.Run(name, func(t *testing.T) {
			soaks(t)
			s := newStorm(t, o)
			led := map[int]bool{}
			for n := 0; len(led) < s.Count(); n++ {
				leads := s.Leader(stream)
				led[leads] = true
				s.calm(30)
				for i := range s.Nodes() {
					s.Dial(i, relaytest.NewKey(3535)).Close()
				}
				if n == 20 {
					t.Fatalf("only %v have led", led)
				}
				s.Kill(leads)
				s.calm(5)
				s.Rig.Start(leads)
				s.Settle()
			}
			s.judge()
		})
	}
}

// setClock says by how much the clocks that go by a file are wrong from now on.
func setClock(t *testing.T, path string, by time.Duration) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(by.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // no node reads half of it
		t.Fatal(err)
	}
}

// TestSiteOff: all nodes and servers are off for 35 minutes by everybody's clock, and
// the first node up is alone for a while; then one node alone is off for as long. The
// members that stay strike out after seconds, and nothing is lost either way.
func TestSiteOff(t *testing.T) {
	soaks(t)
	clock, late := filepath.Join(t.TempDir(), "clock"), time.Duration(0)
	o := nodes.Options{Faults: map[int]string{}, ClockFile: map[int]string{}}
	for i := range 3 {
		o.Faults[i], o.ClockFile[i] = "strike-soon", clock
	}
	later := func(d time.Duration) { late += d; setClock(t, clock, late) }
	later(0)
	c := nodes.Start(t, o)
	stored, acknowledged := recorded(t, c, 3536)
	write := func(node int, what string) { stored(node, what+" ", 30) }
	for i := range 3 {
		write(i, "before")
	}
	for i := range 3 {
		c.Node(i).Kill()
	}
	c.Off()
	later(35 * time.Minute)
	for i := range 3 {
		c.Restart(i, func(settings *rig.Settings) { settings.Clock = late })
	}
	c.Settle()
	for i := range 3 {
		c.Node(i).MustStart()
		write(i, "after all were off, at "+fmt.Sprint(i))
	}
	if n, err := c.Members(t.Context(), 0); err != nil || n != 3 {
		t.Errorf("%d members, %v: a member was struck out while all were off", n, err)
	}
	for i := range 3 {
		if c.Node(i).Said("has joined again") {
			t.Errorf("node %d had to join again", i)
		}
	}

	gone := c.Node(2)
	gone.Kill()
	c.Kill(2)
	later(35 * time.Minute)
	c.Until("it is struck out", wait, func() error {
		write(0, fmt.Sprint("while one is off ", time.Now().UnixNano()))
		members, err := c.Members(t.Context(), 0)
		if err == nil && members != 2 {
			err = fmt.Errorf("%d members", members)
		}
		return err
	})
	c.Restart(2, func(settings *rig.Settings) { settings.Clock = late })
	c.Settle()
	gone.MustStart()
	if !gone.Said("has joined again") {
		t.Error("it does not say that it joined again")
	}
	write(2, "after it joined again")
	for i := range 3 {
		wantAll(t, c, i, acknowledged)
	}
	wantSame(t, c)
}

// TestMinorityHalts: a node has read, and acknowledged from, an older copy of the log
// while the others were off; these come back with the newer one. It halts, they go on
// while it has, and it brings what only it has when it is recovered.
func TestMinorityHalts(t *testing.T) {
	soaks(t)
	c := nodes.Start(t, nodes.Options{Alone: true})
	write, acknowledged := recorded(t, c, 3537)
	ready := func(which ...int) {
		for _, i := range which {
			if err := c.Node(i).AwaitReady(wait); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0, "kept ", 10)
	c.Node(2).Stop()
	c.Off()
	older := c.Keep()
	c.On()
	ready(0, 1)
	write(0, "of the majority ", 200)
	c.Node(0).Stop()
	c.Node(1).Stop()
	c.Off()
	newer := c.Keep()
	older()
	c.On()
	c.Node(2).Cont()
	ready(2)
	write(2, "of one ", 30)
	c.Off()
	newer()
	c.On()
	c.Node(0).Cont()
	c.Node(1).Cont()
	ready(0, 1)
	write(0, "after it ", 30)
	halts(t, c, 2)
	write(1, "while it has halted ", 30)
	for i := range 2 {
		if c.Node(i).Halted() {
			t.Errorf("node %d of the majority has halted", i)
		}
	}
	said, err := c.Node(2).Recover()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "30 events") {
		t.Errorf("it does not say what only it has: %s", said)
	}
	for i := range 3 {
		wantAll(t, c, i, acknowledged)
	}
	wantSame(t, c)
}
