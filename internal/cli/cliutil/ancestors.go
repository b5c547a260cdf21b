package cliutil

import (
	"path/filepath"
	"slices"
	"strings"
)

// maxAncestors is how far up processes are looked at: a shell or two, what starts
// packages, and the harness.
const maxAncestors = 8

// between are programs that stand between a harness and what it starts.
var between = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "cmd", "powershell", "pwsh", "env", "nice", "timeout"}

// ancestors are the processes above this one, the nearest first.
func ancestors(e *Env) []Process {
	if e.Ancestors != nil {
		return e.Ancestors()
	}
	return systemAncestors()
}

// harnessAbove is the process that started a hook; "" is not known.
func harnessAbove(all []Process) string {
	for _, p := range all {
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(p.Name), ".exe"))
		if !slices.Contains(between, strings.TrimPrefix(name, "-")) {
			return p.ID
		}
	}
	return ""
}
