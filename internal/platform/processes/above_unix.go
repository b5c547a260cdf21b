//go:build !darwin && !windows

package processes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Above reads /proc; where there is none, nothing is known.
func Above() (all []Process) {
	for pid := os.Getppid(); pid > 1 && len(all) < most; {
		p, parent, ok := statusOf(pid)
		if !ok {
			break
		}
		all = append(all, p)
		pid = parent
	}
	return all
}

// statusOf reads /proc/PID/stat: "pid (name) state ppid …", where the name may
// hold anything.
func statusOf(pid int) (p Process, parent int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, 0, false
	}
	open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if open < 0 || end < open {
		return p, 0, false
	}
	fields := strings.Fields(string(text[end+1:])) // the third is first
	if len(fields) < 20 {
		return p, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return Process{ID: fmt.Sprintf("%d@%s", pid, fields[19]), Name: string(text[open+1 : end])}, parent, err == nil
}
