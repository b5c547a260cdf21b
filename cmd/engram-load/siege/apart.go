package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// lower is by how much the attackers' priority is below that of the relay and
// its well-behaved client.
const lower = 15

// apart is the process of the attackers, and what it says: a line when all have
// begun, and at the end one with the frames and requests that went out between.
type apart struct {
	cmd  *exec.Cmd
	in   io.Closer // closed, the attack ends
	said *bufio.Reader
}

// sendOut starts this program once more, as the attackers, and waits until they
// have begun.
func sendOut(ctx context.Context, t target, name string) (*apart, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-attackers", name, "-target", string(t))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // their priority is set for the group: all threads
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	a := &apart{cmd, in, bufio.NewReader(out)}
	if _, err := a.said.ReadString('\n'); err != nil {
		return nil, errors.Join(errors.New("the attackers did not begin"), in.Close(), cmd.Wait())
	}
	return a, nil
}

// recall ends the attack and says how many frames and requests a second went out.
func (a *apart) recall() (strikes float64, err error) {
	err = a.in.Close()
	_, scanned := fmt.Fscanln(a.said, &strikes)
	return strikes, errors.Join(err, scanned, a.cmd.Wait())
}

// attackApart is what that process does: until stdin ends.
func attackApart(ctx context.Context, t target, name string) error {
	now, err := syscall.Getpriority(syscall.PRIO_PGRP, 0) // as the system call has it: 20 less the priority
	if err != nil {
		return fmt.Errorf("getpriority: %w", err)
	}
	if err := syscall.Setpriority(syscall.PRIO_PGRP, 0, min(20-now+lower, 19)); err != nil {
		return fmt.Errorf("setpriority: %w", err)
	}
	all := attacks()
	i := slices.IndexFunc(all, func(a attack) bool { return a.name == name })
	if i < 0 {
		return fmt.Errorf("there is no attack %q", name)
	}
	do, err := all[i].arm(t)
	if err != nil {
		return fmt.Errorf("arm: %w", err)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	army := muster(ctx, t, do)
	army.engaged()
	before, start := army.strikes.Load(), time.Now()
	fmt.Println("begun")
	_, err = io.Copy(io.Discard, os.Stdin)
	strikes := float64(army.strikes.Load()-before) / time.Since(start).Seconds()
	end()
	army.wait()
	fmt.Println(strikes)
	return err
}

// perSecond is a rate with few digits.
func perSecond(rate float64) string {
	if rate < 10_000 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.0fk", rate/1000)
}
