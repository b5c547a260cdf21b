package service

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/golden"
	"engramd/internal/e2e/notrun"
)

var (
	place = Place{Home: "/home/ada", Config: "/home/ada/.config", State: "/home/ada/my state", User: 501}
	spec  = Spec{Program: "/opt/a & b/engramd", Args: []string{"serve", "--listen=127.0.0.1:7448", `--data=/home/ada/100% "of" $HOME\x`, "--metrics-listen="}}
)

// calls records what is run, and answers.
type calls struct {
	all  []string
	out  string
	fail string // what begins so fails
}

func (c *calls) run(_ context.Context, program string, args ...string) (string, error) {
	line := program + " " + strings.Join(args, " ")
	c.all = append(c.all, line)
	if c.fail != "" && strings.HasPrefix(line, c.fail) {
		return c.out, errors.New("exit status 1")
	}
	return c.out, nil
}

func TestGoldenSystemd(t *testing.T) {
	got, err := Systemd{Place: place}.Text(spec)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", unit), got)
	if _, err := (Systemd{}).Text(Spec{Program: "/bin/a", Args: []string{"b\nExecStart=c"}}); err == nil {
		t.Error("a line end gets into the unit")
	}
}

// TestSystemdTakesIt has systemd itself read the unit.
func TestSystemdTakesIt(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		notrun.Skip(t, "there is no systemd-analyze")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "a & b", "engramd")
	if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o755), os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	text, err := Systemd{Place: place}.Text(Spec{Program: program, Args: spec.Args})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, unit)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(verify, "--user", "verify", path)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "Failed to initialize manager") {
		notrun.Skip(t, "systemd-analyze does not run: "+string(out))
	}
	if err != nil || strings.Contains(string(out), unit) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func TestGoldenLaunchd(t *testing.T) {
	got, err := Launchd{Place: place}.Text(spec)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", label+".plist"), got)
	var words []string
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			words = append(words, string(data))
		}
	}
	for _, want := range append([]string{spec.Program}, spec.Args...) {
		if !slices.Contains(words, want) {
			t.Errorf("%q is not in the list: %q", want, words)
		}
	}
}

func TestStart(t *testing.T) {
	c := &calls{}
	if err := (Systemd{Place: place, Run: c.run}).Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []string{"systemctl --user daemon-reload", "systemctl --user enable engramd.service", "systemctl --user restart engramd.service"}
	if !slices.Equal(c.all, want) {
		t.Errorf("ran %q", c.all)
	}
	c = &calls{fail: "launchctl bootout"}
	l := Launchd{Place: place, Run: c.run}
	if err := l.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	want = []string{"launchctl bootout gui/501/engramd.local", "launchctl bootstrap gui/501 /home/ada/Library/LaunchAgents/engramd.local.plist"}
	if !slices.Equal(c.all, want) {
		t.Errorf("ran %q", c.all)
	}
	for _, m := range []Manager{Systemd{Run: (&calls{fail: "systemctl --user enable", out: "no such unit"}).run},
		Launchd{Run: (&calls{fail: "launchctl bootstrap", out: "no such unit\nmore"}).run}} {
		if err := m.Start(context.Background()); err == nil || !strings.HasSuffix(err.Error(), ": no such unit") {
			t.Errorf("%T: %v", m, err)
		}
	}
}

func TestReady(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		m    Manager
		fits bool
	}{
		{Systemd{Run: (&calls{out: "running"}).run}, true},
		{Systemd{Run: (&calls{out: "degraded", fail: "systemctl"}).run}, true},
		{Systemd{Run: (&calls{out: "offline", fail: "systemctl"}).run}, false},
		{Systemd{Run: (&calls{out: "Failed to connect to bus: No medium found", fail: "systemctl"}).run}, false},
		{Systemd{Run: (&calls{fail: "systemctl"}).run}, false},
		{Launchd{Run: (&calls{}).run}, true},
		{Launchd{Run: (&calls{fail: "launchctl print", out: "no domain"}).run}, false},
		{None{}, false},
	} {
		if err := c.m.Ready(ctx); (err == nil) != c.fits || err != nil && !errors.Is(err, ErrNone) {
			t.Errorf("%T: %v", c.m, err)
		}
	}
}
