//go:build unix && !linux

package thinker

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
)

// alone has nothing to wait for: no attribute of the process is used.
func alone(context.Context) (release func(), err error) { return func() {}, nil }

// family is a program and what it starts, as long as that stays in its group: who
// goes into another session gets away here.
type family struct {
	cmd  *exec.Cmd
	gone chan struct{}
	// mu is held while signals are sent and while the program is reaped: afterwards
	// its number may be somebody else's.
	mu     sync.Mutex
	reaped bool
	err    error
}

func begin(cmd *exec.Cmd) (*family, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	f := &family{cmd: cmd, gone: make(chan struct{})}
	go func() {
		f.err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // at once: the group's number is not given anew while it has members
		f.mu.Lock()
		f.reaped = true
		f.mu.Unlock()
		close(f.gone)
	}()
	return f, nil
}

func (f *family) signal(s syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reaped {
		_ = syscall.Kill(-f.cmd.Process.Pid, s)
	}
}

// ask asks all in the group to end.
func (f *family) ask() { f.signal(syscall.SIGTERM) }

// end kills whoever is left in the group, and says how the program ended.
func (f *family) end() error {
	f.signal(syscall.SIGKILL)
	<-f.gone
	return errors.Join(f.err)
}
