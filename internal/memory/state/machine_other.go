//go:build !darwin && !windows

package state

import (
	"os"
	"strings"
)

// systemMachine returns systemd's id of the machine, "" if there is none.
func systemMachine() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		text, err := os.ReadFile(path)
		if id := strings.TrimSpace(string(text)); err == nil && len(id) == 32 {
			return id
		}
	}
	return ""
}
