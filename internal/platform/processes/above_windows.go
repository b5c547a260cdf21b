package processes

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Above looks at one picture of all processes. A parent that began
// after its child is another one with its number.
func Above() (all []Process) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entries := map[uint32]windows.ProcessEntry32{}
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		entries[entry.ProcessID] = entry
	}
	child := beganAt(uint32(os.Getpid()))
	for pid := uint32(os.Getppid()); pid != 0 && len(all) < most; {
		e, ok := entries[pid]
		at := beganAt(pid)
		if !ok || at == 0 || at > child {
			break
		}
		all = append(all, Process{ID: fmt.Sprintf("%d@%d", pid, at), Name: windows.UTF16ToString(e.ExeFile[:])})
		pid, child = e.ParentProcessID, at
	}
	return all
}

// beganAt is when a process began; 0 is not known.
func beganAt(pid uint32) int64 {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return 0
	}
	defer func() { _ = windows.CloseHandle(process) }()
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(process, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	return created.Nanoseconds()
}
