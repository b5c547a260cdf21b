package pages

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// readmeAddress is where the relay listens in README.md; ours is on a free port.
// readmeHome is whose home it shows.
const (
	readmeAddress = "127.0.0.1:7447"
	readmeHome    = "/home/ada"
)

// fiveMinutes types the section of README.md with that name, at home in a folder
// that is empty but for bin. What the user's service manager would start is started
// here. It returns the section, what it shows and what came out, with the page's address
// and home in place of the true ones.
func fiveMinutes(ctx context.Context, t *testing.T, dir string) (section string, shown, got []Step, err error) {
	page, err := Read("README.md")
	if err != nil {
		return "", nil, nil, err
	}
	section, err = Section(page, "Five minutes")
	if err != nil {
		return "", nil, nil, err
	}
	bin, err := Install(dir)
	if err != nil {
		return "", nil, nil, err
	}
	if err := serveUnits(t, dir, bin); err != nil {
		return "", nil, nil, err
	}
	shown = Console(section)
	got, err = Run(ctx, dir, Env(dir, "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME="), shown)
	address := readmeAddress
	if text, err := os.ReadFile(unitIn(dir)); err == nil {
		address = listen.FindStringSubmatch(string(text))[1]
	}
	for i := range got {
		got[i].Output = strings.NewReplacer(address, readmeAddress, dir, readmeHome).Replace(got[i].Output)
	}
	return section, shown, got, err
}

// What the unit of setup --local says.
var (
	listen = regexp.MustCompile(`"--listen=([^"]*)"`)
	data   = regexp.MustCompile(`"--data=([^"]*)"`)
	more   = regexp.MustCompile(`--(?:write|store)-[^"]*`)
)

func unitIn(home string) string {
	return filepath.Join(home, ".config", "systemd", "user", "engramd.service")
}

// serveUnits puts a systemctl into bin that has this process start what the unit
// of a home says: the machine's own manager is nobody's to change in a test.
func serveUnits(t *testing.T, home, bin string) error {
	asked := filepath.Join(bin, "asked")
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		return fmt.Errorf("a pipe for systemctl: %w", err)
	}
	script := "#!/bin/sh\ncase \"$*\" in\n*is-system-running) echo running ;;\n*restart*) echo restart >'" + asked + "' ;;\nesac\n"
	if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte(script), 0o755); err != nil {
		return err
	}
	orders, err := os.OpenFile(asked, os.O_RDWR, 0) // it never ends by itself
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		orders.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(orders); lines.Scan(); {
			text, err := os.ReadFile(unitIn(home))
			if err == nil {
				_, err = relaytest.Launch(t, relaytest.Options{Listen: listen.FindStringSubmatch(string(text))[1], Data: data.FindStringSubmatch(string(text))[1], Args: more.FindAllString(string(text), -1)})
			}
			if err != nil {
				t.Logf("the relay of the page: %v", err)
			}
		}
	}()
	return nil
}
