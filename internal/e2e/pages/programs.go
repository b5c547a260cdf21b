package pages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/e2e/relaytest"
)

// Install puts engramd and engramctl into a folder bin under dir, as make build
// does.
func Install(dir string) (bin string, err error) {
	daemon, err := relaytest.Binary(relaytest.Build{})
	if err != nil {
		return "", err
	}
	root, err := relaytest.Root()
	if err != nil {
		return "", err
	}
	bin = filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-tags", relaytest.Tags, "-o", filepath.Join(bin, "engramctl"), "./cmd/engramctl")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build engramctl: %w\n%s", err, out)
	}
	return bin, os.Symlink(daemon, filepath.Join(bin, "engramd"))
}

// Env is an environment without any setting of our programs, at home in dir.
func Env(dir string, more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "ENGRAM") })
	return append(append(env, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "TMPDIR="+dir), more...)
}
