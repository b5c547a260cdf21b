package keychain

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

// TestNoBusIsStarted: without a bus the error says so, and none is started.
func TestNoBusIsStarted(t *testing.T) {
	if _, err := os.Stat("/run/user/" + strconv.Itoa(os.Getuid()) + "/bus"); err == nil {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
		if err := present(); err != nil {
			t.Errorf("there is a bus: %v", err)
		}
		return
	}
	for _, address := range []string{"", "autolaunch:"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		if err := present(); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
