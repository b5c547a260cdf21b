package cliutil

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"engramd/internal/agent/harness"
	memorystate "engramd/internal/memory/state"
)

// Folder is where the command works; "" if that is not known.
func Folder(e *Env) string {
	folder := e.Dir
	if folder == "" {
		folder, _ = os.Getwd() // "" is no project
	}
	return folder
}

// StateFolder is the folder of what only this machine has.
func StateFolder(e *Env) string {
	return memorystate.Dir(func(name string) string { return e.Vars[name] }, e.Home())
}

// CacheFolder is the folder of local copies: in XDG_CACHE_HOME, else in what the
// system has for caches.
func CacheFolder(e *Env) (string, error) {
	if base := e.Vars["XDG_CACHE_HOME"]; filepath.IsAbs(base) {
		return filepath.Join(base, "engramd"), nil
	}
	base := Under(e.Home(), ".cache")
	switch runtime.GOOS {
	case "windows":
		base = cmp.Or(e.Vars["LOCALAPPDATA"], base)
	case "darwin":
		base = Under(e.Home(), "Library/Caches")
	}
	if base == "" {
		return "", errors.New("there is no folder for caches: set XDG_CACHE_HOME, or give --no-mirror")
	}
	return filepath.Join(base, "engramd"), nil
}

// Under joins a folder and a name; "" if there is no folder.
func Under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

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
