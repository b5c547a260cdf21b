package processes

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Above asks the kernel for one process after the other.
func Above() (all []Process) {
	for pid := os.Getppid(); pid > 1 && len(all) < most; {
		info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil {
			break
		}
		name, _, _ := bytes.Cut(info.Proc.P_comm[:], []byte{0})
		at := info.Proc.P_starttime
		all = append(all, Process{ID: fmt.Sprintf("%d@%d.%d", pid, at.Sec, at.Usec), Name: string(name)})
		pid = int(info.Eproc.Ppid)
	}
	return all
}
