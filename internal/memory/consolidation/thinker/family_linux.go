package thinker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// one is held while a program thinks: who adopts orphans is a matter of the
// process, of which there is one.
var one = make(chan struct{}, 1)

// alone waits until no other program thinks for this process.
func alone(ctx context.Context) (release func(), err error) {
	select {
	case one <- struct{}{}:
		return func() { <-one }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// family is a program and all that it starts. It has a session of its own, and
// whoever it leaves behind becomes ours instead of the system's, so that one who
// went into yet another session is found.
type family struct {
	cmd    *exec.Cmd
	before map[int]bool // our children that are none of its
	gone   chan struct{}
}

func begin(cmd *exec.Cmd) (*family, error) {
	f := &family{cmd: cmd, before: map[int]bool{}, gone: make(chan struct{})}
	for _, pid := range f.orphans() {
		f.before[pid] = true
	}
	// Where the kernel does not allow it, those in the group are ended all the same.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		return nil, err
	}
	go func() {
		defer close(f.gone)
		for {
			// It stays a zombie, so that its number is its group's and nobody else's.
			err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return f, nil
}

// ask asks all in the group to end.
func (f *family) ask() { _ = unix.Kill(-f.cmd.Process.Pid, unix.SIGTERM) }

// maxRounds bounds the search for those who are left: one round ends one
// generation.
const maxRounds = 10_000

// end kills whoever is left, and says how the program ended.
func (f *family) end() error {
	_ = unix.Kill(-f.cmd.Process.Pid, unix.SIGKILL)
	err := f.cmd.Wait()
	<-f.gone
	for range maxRounds {
		left := f.orphans()
		if len(left) == 0 {
			_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
			return err
		}
		for _, pid := range left { // our children: nobody but us can reap them, and their numbers stay theirs
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range left {
			for {
				if _, waited := unix.Wait4(pid, nil, 0, nil); !errors.Is(waited, unix.EINTR) {
					break
				}
			}
		}
	}
	return errors.Join(err, fmt.Errorf("it starts processes faster than they can be ended: some are left"))
}

// orphans are children of this process that it did not start: they are in another
// session. Zombies are among them.
func (f *family) orphans() []int {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || f.before[pid] || f.cmd.Process != nil && pid == f.cmd.Process.Pid {
			continue
		}
		text, err := os.ReadFile("/proc/" + name.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent group session": the name may hold anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 3 && fields[1] == strconv.Itoa(self) && fields[3] != strconv.Itoa(session) {
			all = append(all, pid)
		}
	}
	return all
}
