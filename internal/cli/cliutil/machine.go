package cliutil

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"engramd/internal/agent/harness"
)

// Roots is where the settings of harnesses lie.
func Roots(env *Env) harness.Roots {
	return harness.Roots{Home: env.Home(), ClaudeDir: env.Vars["CLAUDE_CONFIG_DIR"], CodexHome: env.Vars["CODEX_HOME"], ConfigDir: env.Vars["XDG_CONFIG_HOME"],
		Windows: runtime.GOOS == "windows"}
}

// Runnable reports whether a file may be run; Windows goes by the name.
func Runnable(info fs.FileInfo) bool {
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0
}

// Self is the path of this program as it is written into settings: that in PATH,
// if it is the same file, since what it leads to may go with the next version.
func Self(env *Env) (string, error) {
	self := env.Self
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return "", err
		}
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	for _, dir := range filepath.SplitList(env.Vars["PATH"]) {
		path := filepath.Join(dir, filepath.Base(self))
		if other, err := os.Stat(path); filepath.IsAbs(path) && err == nil && os.SameFile(info, other) {
			return path, nil
		}
	}
	return self, nil
}
