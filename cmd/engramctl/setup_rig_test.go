package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"engramd/internal/cli/setup"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/platform/keychain"
	"engramd/internal/platform/service"
)

type keysKey struct{}

// heldKeys is a script's key store; one that holds the name "none" is
// unavailable.
type heldKeys map[string]string

func (k heldKeys) Get(_ context.Context, name string) (string, error) {
	if _, none := k["none"]; none {
		return "", fmt.Errorf("%w: no bus", keychain.ErrNone)
	}
	secret, ok := k[name]
	if !ok {
		return "", keychain.ErrNotFound
	}
	return secret, nil
}

func (k heldKeys) Add(_ context.Context, name, secret string) error {
	if _, held := k[name]; held {
		return keychain.ErrExists
	}
	k[name] = secret
	return nil
}

// keystore changes the script's key store:
//
//	keystore put NAME FILE   keep what a file holds
//	keystore get NAME FILE   write it into a file
//	keystore none            there is none any more
func keystore(ts *testscript.TestScript, _ bool, args []string) {
	held := ts.Value(keysKey{}).(heldKeys)
	switch args[0] {
	case "put":
		held[args[1]] = ts.ReadFile(args[2])
	case "get":
		secret, ok := held[args[1]]
		if !ok {
			ts.Fatalf("the key store has no %s", args[1])
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(secret), 0o600))
	case "none":
		held["none"] = ""
	}
}

// servicesOf returns a script's service manager: the test starts what systemctl
// would start. With NO_SERVICES set there is none; with BROKEN_SERVICES it
// starts nothing.
func servicesOf(ts *testscript.TestScript) service.Manager {
	s := service.Systemd{Place: service.Place{Home: ts.Getenv("HOME"), Config: filepath.Join(ts.MkAbs("."), "units")}}
	s.Run = func(_ context.Context, program string, args ...string) (string, error) {
		line := strings.Join(append([]string{program}, args...), " ")
		ts.Logf("runs %s", line)
		switch {
		case ts.Getenv("NO_SERVICES") != "":
			return "Failed to connect to bus", errors.New("exit status 1")
		case strings.HasSuffix(line, "is-system-running"):
			return "running", nil
		case ts.Getenv("BROKEN_SERVICES") != "":
			return "Unit engramd.service has a bad unit file setting.", errors.New("exit status 1")
		case strings.Contains(line, " restart "):
			unit := ts.ReadFile(s.File())
			value := func(flag string) string {
				return regexp.MustCompile(`"--` + flag + `=([^"]*)"`).FindStringSubmatch(unit)[1]
			}
			o := relaytest.Options{Listen: value("listen"), Data: value("data"), Args: regexp.MustCompile(`--(?:write|store)-[^"]*`).FindAllString(unit, -1)}
			all := ts.Value(relaysKey{}).(map[string]*relaytest.Child)
			if running := all["LOCAL"]; running != nil {
				running.Stop()
			}
			all["LOCAL"] = relaytest.Start(scriptT{ts}, o)
			ts.Setenv("LOCAL", "ws://"+value("listen"))
		}
		return "", nil
	}
	return s
}

// installed returns the path of the scripts' engramctl.
func installed(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "engramctl"); setup.IsThere(path) {
			return path
		}
	}
	return ""
}
