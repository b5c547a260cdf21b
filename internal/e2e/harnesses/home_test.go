//go:build harness

package harnesses

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// sessionLimit is how long a session may take, on a busy machine.
const sessionLimit = 4 * time.Minute

// home is a person's: their folder, the programs, a relay and the model.
type home struct {
	t     *testing.T
	dir   string
	model *standin
	relay *relaytest.Child
	env   []string
}

func newHome(t *testing.T, p program) *home {
	t.Helper()
	ctl, err := relaytest.Binary(relaytest.Ctl)
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: t.TempDir(), model: newStandin(t), relay: relaytest.Start(t, relaytest.Options{})}
	t.Cleanup(func() { settle(h.dir) })
	bin := filepath.Join(h.dir, "bin")
	for _, dir := range []string{bin, h.path("tmp"), h.path("atlas"), h.path("other")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(ctl, filepath.Join(bin, "engramctl")); err != nil {
		t.Fatal(err)
	}
	h.env = []string{
		"HOME=" + h.dir, "TMPDIR=" + h.path("tmp"), "PATH=" + bin + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "USER=ada", "TERM=dumb", "SHELL=/bin/sh",
		"XDG_CONFIG_HOME=" + h.path(".config"), "XDG_STATE_HOME=" + h.path(".state"), "XDG_DATA_HOME=" + h.path(".data"), "XDG_CACHE_HOME=" + h.path(".cache"),
		// What is not on loopback is asked of the stand-in, which notes it and refuses.
		"HTTP_PROXY=" + h.model.URL, "HTTPS_PROXY=" + h.model.URL, "http_proxy=" + h.model.URL, "https_proxy=" + h.model.URL,
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "DO_NOT_TRACK=1", "CI=1", "NO_COLOR=1", "npm_config_fetch_retries=0",
	}
	h.env = append(h.env, p.env(h)...)
	h.write("password", "correct horse battery\n")
	for name, text := range p.files(h) {
		h.write(name, text)
	}
	for _, name := range []string{"atlas", "other"} {
		h.run(h.path(name), "git", "init", "-q")
		h.run(h.path(name), "git", "remote", "add", "origin", "https://git.example/ada/"+name)
	}
	return h
}

func (h *home) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

func (h *home) write(name, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// run runs a program as this person in a folder, and fails the test with it.
func (h *home) run(dir, name string, args ...string) string {
	h.t.Helper()
	out, err := h.try("", dir, name, args...)
	if err != nil {
		all, other := h.model.take()
		h.t.Fatalf("%s %s: %v\n%s\n%d requests, and besides %v", filepath.Base(name), strings.Join(args, " "), err, out, len(all), other)
	}
	return out
}

// try runs a program with this on stdin, and returns what it said.
func (h *home) try(stdin, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sessionLimit)
	defer cancel()
	for _, kv := range h.env {
		if path, found := strings.CutPrefix(kv, "PATH="); found && !strings.Contains(name, "/") {
			for _, dir := range filepath.SplitList(path) {
				if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode()&0o111 != 0 {
					name = filepath.Join(dir, name)
					break
				}
			}
		}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(slices.Clone(h.env), "PWD="+dir), &out, &out
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	return out.String(), err
}

// settings are the files of these names, and all that are in folders of these names.
func (h *home) settings(names []string) map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for _, name := range names {
		err := filepath.WalkDir(h.path(name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.Contains(path, "node_modules") {
				return nil
			}
			text, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, h.dir+"/")] = string(text)
			return err
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return all
}

// gone are the files of before that are not there after.
func gone(before, after map[string]string) (names []string) {
	for name := range before {
		if _, found := after[name]; !found {
			names = append(names, name)
		}
	}
	return names
}

// settle makes folders that a program made read-only removable.
func settle(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}
