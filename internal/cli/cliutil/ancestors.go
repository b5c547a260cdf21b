package cliutil

import (
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/platform/processes"
)

// between are programs that stand between a harness and what it starts.
var between = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "cmd", "powershell", "pwsh", "env", "nice", "timeout"}

// ancestors are the processes above this one, the nearest first.
func ancestors(e *Env) []processes.Process {
	if e.Ancestors != nil {
		return e.Ancestors()
	}
	return processes.Above()
}

// harnessAbove is the process that started a hook; "" is not known.
func harnessAbove(all []processes.Process) string {
	for _, p := range all {
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(p.Name), ".exe"))
		if !slices.Contains(between, strings.TrimPrefix(name, "-")) {
			return p.ID
		}
	}
	return ""
}
