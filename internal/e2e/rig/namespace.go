package rig

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
)

// The words that pass between a test and its copy in a namespace.
const (
	InNamespace = "E2E_IN_NAMESPACE"
	Mounted     = "e2e: tmpfs mounted"
	NoMount     = "e2e: tmpfs not mounted:"
)

// RerunInNamespace runs this test again in a mount namespace of its own, with
// the rights of root in it where the machine gives them. Where it does not, the
// variant did not run, and that is said loudly.
func RerunInNamespace(t *testing.T) {
	t.Helper()
	bin, err := relaytest.Binary(Watched)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), InNamespace+"=1", "ENGRAMD_BIN="+bin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case cmd.Process == nil:
		notrun.Skip(t, fmt.Sprintf("no mount namespace: %v", err))
	case strings.Contains(text, NoMount):
		notrun.Skip(t, text)
	case err != nil || !strings.Contains(text, Mounted):
		t.Errorf("in the namespace: %v\n%s", err, text)
	}
}
