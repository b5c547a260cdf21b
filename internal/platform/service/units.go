package service

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Launchd is the manager of a user on macOS.
type Launchd struct {
	Place
	Run Command
}

// label is the name of the service.
const label = "engramd.local"

func (l Launchd) domain() string { return "gui/" + strconv.Itoa(l.User) }

// Ready asks whether the user has a session.
func (l Launchd) Ready(ctx context.Context) error {
	if out, err := l.Run(ctx, "launchctl", "print", l.domain()); err != nil {
		return fmt.Errorf("%w: launchctl: %s", ErrNone, firstLine(out, err))
	}
	return nil
}

// File is the agent of the user.
func (l Launchd) File() string {
	return filepath.Join(l.Home, "Library", "LaunchAgents", label+".plist")
}

// Text is the property list.
func (l Launchd) Text(spec Spec) (string, error) {
	var words strings.Builder
	for _, word := range append([]string{spec.Program}, spec.Args...) {
		if !oneLine(word) {
			return "", fmt.Errorf("%q cannot stand in a property list", word)
		}
		words.WriteString("\t\t" + element(word) + "\n")
	}
	log := element(filepath.Join(l.State, "relay.log"))
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + written + `: the local relay of this user's agents. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + label + `</string>
	<key>ProgramArguments</key>
	<array>
` + words.String() + `	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>10</integer>
	<key>ExitTimeOut</key>
	<integer>20</integer>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardOutPath</key>
	` + log + `
	<key>StandardErrorPath</key>
	` + log + `
</dict>
</plist>
`, nil
}

// element is a text as a string of a property list.
func element(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return "<string>" + b.String() + "</string>"
}

// Start loads the list, again if it was loaded.
func (l Launchd) Start(ctx context.Context) error {
	// It need not be loaded.
	_, _ = l.Run(ctx, "launchctl", "bootout", l.domain()+"/"+label)
	if out, err := l.Run(ctx, "launchctl", "bootstrap", l.domain(), l.File()); err != nil {
		return fmt.Errorf("launchctl bootstrap: %s", firstLine(out, err))
	}
	return nil
}

// Stop unloads it and takes it away.
func (l Launchd) Stop() string {
	return "launchctl bootout " + l.domain() + "/" + label + "; rm " + shellWord(l.File())
}

// shellWord quotes a word for a POSIX shell.
func shellWord(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

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
