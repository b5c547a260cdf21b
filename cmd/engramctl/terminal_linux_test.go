//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"engramd/internal/cli/exit"
)

// pty opens a pseudo-terminal.
func pty(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

// screen is what a terminal has shown.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	grew chan struct{}
}

func (s *screen) read(f *os.File) {
	b := make([]byte, 1024)
	for {
		n, err := f.Read(b)
		s.mu.Lock()
		s.text.Write(b[:n])
		s.mu.Unlock()
		select {
		case s.grew <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the terminal has shown a text a number of times.
func (s *screen) await(t *testing.T, text string, times int) {
	t.Helper()
	deadline := time.After(time.Minute)
	for strings.Count(s.String(), text) < times {
		select {
		case <-s.grew:
		case <-deadline:
			t.Fatalf("the terminal does not show %q, but %q", text, s)
		}
	}
}

// onTerminal runs engramctl as a process of its own with a terminal, stdin
// being something else.
func onTerminal(t *testing.T, args ...string) (*exec.Cmd, *os.File, *screen, *bytes.Buffer) {
	t.Helper()
	ours, theirs := pty(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "engramctl") // testscript.Main dispatches on the name
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.ExtraFiles = []*os.File{theirs} // fd 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	s := &screen{grew: make(chan struct{}, 1)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// It has ended already, unless the test failed.
		_ = cmd.Process.Kill()
	})
	go s.read(ours)
	return cmd, ours, s, &out
}

// TestPasswordIsNotShown: the prompt is on the terminal, and the typed text is
// not echoed.
func TestPasswordIsNotShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new.key")
	cmd, typing, screen, out := onTerminal(t, "key", "new", file, "--encrypt")
	for _, prompt := range []string{"New password: ", "The same again: "} {
		screen.await(t, prompt, 1)
		awaitEcho(t, typing, false)
		if _, err := typing.WriteString("hunter22\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(screen.String()+out.String(), "hunter") {
		t.Errorf("the password is shown: %q", screen)
	}
	if !strings.HasPrefix(out.String(), "npub1") {
		t.Errorf("printed %q", out)
	}
}

// TestInterruptedPrompt: the terminal's mode is restored.
func TestInterruptedPrompt(t *testing.T) {
	cmd, terminal, screen, out := onTerminal(t, "key", "new", filepath.Join(t.TempDir(), "new.key"), "--encrypt")
	screen.await(t, "New password: ", 1)
	awaitEcho(t, terminal, false)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// Wait's error is the exit code, which is checked.
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted {
		t.Errorf("exit code %d\n%s", code, out)
	}
	awaitEcho(t, terminal, true)
}

// awaitEcho waits until the terminal echoes, or does not echo, what is typed.
func awaitEcho(t *testing.T, f *os.File, want bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		if (state.Lflag&unix.ECHO != 0) == want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("echo is not %v", want)
		}
	}
}
