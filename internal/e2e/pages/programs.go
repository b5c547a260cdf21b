package pages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/e2e/relaytest"
)

// Install puts engramd and engramctl into a folder bin under dir, as make build
// does.
func Install(dir string) (bin string, err error) {
	bin = filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return "", err
	}
	for name, build := range map[string]relaytest.Build{"engramd": {}, "engramctl": relaytest.Ctl} {
		path, err := relaytest.Binary(build)
		if err != nil {
			return "", err
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			return "", err
		}
	}
	return bin, nil
}

// Env is an environment without any setting of our programs, at home in dir.
func Env(dir string, more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "ENGRAM") })
	return append(append(env, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "TMPDIR="+dir), more...)
}
