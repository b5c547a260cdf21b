package service

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Systemd is the manager of the user's session on Linux.
type Systemd struct {
	Place
	Run Command
}

// unit is the name of the service.
const unit = "engramd.service"

// Ready asks the manager how it does.
func (s Systemd) Ready(ctx context.Context) error {
	out, err := s.Run(ctx, "systemctl", "--user", "is-system-running")
	switch {
	case out == "running" || out == "degraded" || out == "starting" || out == "initializing":
		return nil // the exit code of a degraded one is not 0
	case err != nil || out != "":
		return fmt.Errorf("%w: systemctl --user: %s", ErrNone, firstLine(out, err))
	}
	return ErrNone
}

// File is the unit of the user.
func (s Systemd) File() string { return filepath.Join(s.Config, "systemd", "user", unit) }

// Text is the unit.
func (s Systemd) Text(spec Spec) (string, error) {
	var words []string
	for _, word := range append([]string{spec.Program}, spec.Args...) {
		if !oneLine(word) {
			return "", fmt.Errorf("%q cannot stand in a unit", word)
		}
		words = append(words, `"`+systemdWord.Replace(word)+`"`)
	}
	return `# ` + written + ` --local: the relay of this user's agents.
# To end it for good: ` + s.Stop() + `
[Unit]
Description=engramd, the memory of this user's AI agents

[Service]
Type=exec
ExecStart=` + strings.Join(words, " ") + `
KillMode=mixed
# timeouts.shutdown is 10 s; SIGKILL loses nothing that was acknowledged.
TimeoutStopSec=20
Restart=on-failure
RestartSec=2
# 2 is a mistake in the configuration: trying again does not mend it.
RestartPreventExitStatus=2
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`, nil
}

// systemdWord quotes what stands between double quotes in ExecStart.
var systemdWord = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$")

// Start enables the unit and starts it anew.
func (s Systemd) Start(ctx context.Context) error {
	for _, args := range [][]string{{"daemon-reload"}, {"enable", unit}, {"restart", unit}} {
		if out, err := s.Run(ctx, "systemctl", append([]string{"--user"}, args...)...); err != nil {
			return fmt.Errorf("systemctl --user %s: %s", strings.Join(args, " "), firstLine(out, err))
		}
	}
	return nil
}

// Stop disables it.
func (s Systemd) Stop() string { return "systemctl --user disable --now " + unit }

// firstLine is what a program said, in a line; else how it failed.
func firstLine(out string, err error) string {
	line, _, _ := strings.Cut(out, "\n")
	if line == "" && err != nil {
		line = err.Error()
	}
	return line
}
