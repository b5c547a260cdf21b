package cliutil

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"

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
