package installed

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// dist is the folder of packages.
var dist = os.Getenv("ENGRAM_DIST")

func TestMain(m *testing.M) {
	if dist == "" || os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "these tests install packages, as root: make dist-test")
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(shared.root)
	os.Exit(code)
}

// find is the one package that a pattern names.
func find(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// version is that of the packages, as npm writes it.
func version(t *testing.T) string {
	t.Helper()
	var entry struct{ Version string }
	readJSON(t, filepath.Join(dist, "server.json"), &entry)
	return entry.Version
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// clean is the environment of a machine where nothing is installed: its own
// home, and the system's PATH with folders before it.
func clean(t *testing.T, path ...string) []string {
	t.Helper()
	tools := []string{}
	for _, tool := range []string{"node", "npm", "python3"} {
		if at, err := exec.LookPath(tool); err == nil {
			tools = append(tools, filepath.Dir(at))
		}
	}
	path = append(append(path, tools...), "/usr/sbin", "/usr/bin", "/sbin", "/bin")
	return []string{"HOME=" + t.TempDir(), "PATH=" + strings.Join(path, ":"), "LC_ALL=C"}
}

// run ends the test if the command fails, and returns what it printed.
func run(t *testing.T, env []string, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env, cmd.Dir = env, folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// here is this machine's processor in the words of packages.
var here = runtime.GOARCH
