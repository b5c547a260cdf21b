package keychain

import (
	"fmt"
	"os"
	"strconv"
)

// present looks for a session bus: without one, what speaks to it would start
// one, and leave it running.
func present() error {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return nil
	}
	if info, err := os.Stat("/run/user/" + strconv.Itoa(os.Getuid()) + "/bus"); err == nil && info.Mode()&os.ModeSocket != 0 {
		return nil
	}
	return fmt.Errorf("%w: there is no session bus, so no Secret Service", ErrNone)
}
