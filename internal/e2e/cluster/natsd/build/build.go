// Package build builds natsd with a clock that can be wrong: Go programs take the time
// past the C library, so that no faketime reaches them.
package build

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Clock is the variable that says by how much a server's clock is wrong, such as 1h.
const Clock = "NATSD_CLOCK"

// wrong is a file more of the package time.
const wrong = `package time

import "syscall"

var wrong = func() int64 {
	text, _ := syscall.Getenv("` + Clock + `")
	d, _ := ParseDuration(text)
	return int64(d / Second)
}()
`

// The place in time.go where the wall clock is read.
const read = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"

// Natsd builds it.
func Natsd(path string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(src, "time.go"))
	if err != nil {
		return err
	}
	if strings.Count(string(text), read) != 1 {
		return fmt.Errorf("time.Now of this Go is written otherwise: have this package know it")
	}
	dir, err := os.MkdirTemp("", "engramd-natsd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(src, "time.go"): filepath.Join(dir, "time.go"), filepath.Join(src, "wrong.go"): filepath.Join(dir, "wrong.go"),
	}})
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"time.go": strings.Replace(string(text), read, read+"\tsec += wrong\n", 1), "wrong.go": wrong, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", path, "engramd/internal/e2e/cluster/natsd").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build natsd: %w\n%s", err, out)
	}
	return nil
}
