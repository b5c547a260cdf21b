package thinker

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// alone has nothing to wait for: each program has a job of its own.
func alone(context.Context) (release func(), err error) { return func() {}, nil }

// family is a program and all that it starts: they are in one job, which nobody
// leaves, and which ends with this process too.
type family struct {
	cmd  *exec.Cmd
	job  windows.Handle
	gone chan struct{}
	err  error
}

func begin(cmd *exec.Cmd) (*family, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
		LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
	}}
	f := &family{cmd: cmd, job: job, gone: make(chan struct{})}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		f.closeJob()
		return nil, fmt.Errorf("job: %w", err)
	}
	// It does not run before it is in the job: what it starts would be outside.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	if err := cmd.Start(); err != nil {
		f.closeJob()
		return nil, err
	}
	pid := uint32(cmd.Process.Pid)
	if err = f.join(pid); err == nil {
		err = resume(pid)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		f.closeJob()
		return nil, fmt.Errorf("job: %w", err)
	}
	go func() {
		defer close(f.gone)
		f.err = cmd.Wait()
	}()
	return f, nil
}

// join puts the program into the job.
func (f *family) join(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	return windows.AssignProcessToJobObject(f.job, process)
}

// resume lets the one thread run that a new process has.
func resume(pid uint32) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(threads) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		return err
	}
	return err
}

func (f *family) closeJob() { _ = windows.CloseHandle(f.job) }

// ask has nobody to ask: there is no signal for a program without a window.
func (f *family) ask() {}

// end kills whoever is left, and says how the program ended.
func (f *family) end() error {
	_ = windows.TerminateJobObject(f.job, 1)
	<-f.gone
	f.closeJob()
	return f.err
}
