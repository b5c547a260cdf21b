package web

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"engramd/internal/cli/cliutil"
	"engramd/internal/platform/files"
)

// openPatience is how long a browser may take to open the page, before a person is
// told how to.
const openPatience = 5 * time.Second

// opening has a browser open the page, and a person type a code where it cannot. It
// returns once the key is handed over or too late to be, and ctx ends it.
func opening(ctx context.Context, env *cliutil.Env, url string, open bool, h *handover) error {
	program, args := "", []string(nil)
	if open {
		program, args = browser(env)
	}
	if h == nil {
		if program != "" {
			launch(env, program, append(args, url))
		}
		return nil
	}
	wait := time.Duration(0)
	if program != "" {
		path, err := ticketFile(env, url, h.token())
		if err != nil {
			return err
		}
		defer os.Remove(path) // its ticket is void by then
		launch(env, program, append(args, path))
		wait = env.Allow(openPatience)
	}
	select {
	case <-h.used:
		return nil
	case <-ctx.Done():
		return nil
	case <-time.After(wait):
	}
	code := h.code()
	env.Note(`open the address, choose "Unlock with your password" and type the code %s-%s. It works once, for %v`, code[:codeChars/2], code[codeChars/2:], ticketTime)
	select {
	case <-h.used:
	case <-ctx.Done():
	case <-time.After(ticketTime):
	}
	return nil
}

// browser is the program that opens addresses and files for this user, "" for none.
func browser(env *cliutil.Env) (program string, args []string) {
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32.exe", []string{"url.dll,FileProtocolHandler"}
	default:
		if program = "xdg-open"; env.Vars["DISPLAY"] == "" && env.Vars["WAYLAND_DISPLAY"] == "" {
			return "", nil // nobody would see it
		}
	}
	for _, dir := range filepath.SplitList(env.Vars["PATH"]) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && cliutil.Runnable(info) {
			return path, args
		}
	}
	return "", nil
}

// launch starts a browser, which goes on when this program ends. What it says of
// itself is no answer of ours, and if it opens nothing a person is told how to.
func launch(env *cliutil.Env, program string, args []string) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = env.System.Env, env.Dir
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

// ticketFile writes what leads a browser to the page with a ticket. The ticket stands
// in a file that only this user can read, and in no command line, which all can.
func ticketFile(env *cliutil.Env, url, ticket string) (path string, err error) {
	dir, err := runtimeFolder(env)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "web-*.html") // with mode 0600
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><title>engramctl web</title><meta http-equiv=refresh content=\"0;url=%s\">\n",
		html.EscapeString(url+"#unlock="+ticket))
	if err = files.MakePrivate(f); err == nil {
		_, err = f.WriteString(text)
	}
	return f.Name(), errors.Join(err, f.Close())
}

// runtimeFolder is a folder of this user alone: that of the session, else one beside
// the state.
func runtimeFolder(env *cliutil.Env) (string, error) {
	base := env.Vars["XDG_RUNTIME_DIR"]
	dir := filepath.Join(base, "engramd")
	if !filepath.IsAbs(base) || private(base) != nil {
		dir = filepath.Join(cliutil.StateFolder(env), "run")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, private(dir)
}

// private reports whether a folder is this user's, and one that nobody else can look or
// write into.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || !files.Owned(info) || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s is no folder of this user alone (chmod 700)", dir)
	}
	return err
}
