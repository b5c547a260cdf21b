package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// dpkg works on a root of its own and runs the packages' scripts on it
// (DPKG_ROOT); the machine's packages are as they were.
func dpkg(t *testing.T, root string, args ...string) string {
	t.Helper()
	return run(t, clean(t), "/", append([]string{"dpkg", "--root=" + root, "--force-script-chrootless", "--log=/dev/null"}, args...)...)
}

// emptyRoot has what dpkg and useradd ask for, and nothing else.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")
	write(t, filepath.Join(root, "etc/group"), "root:x:0:\n")
	write(t, filepath.Join(root, "etc/shadow"), "root:*:::::::\n")
	write(t, filepath.Join(root, "etc/gshadow"), "root:*::\n")
	for _, f := range []string{"status", "available", "info/format"} {
		write(t, filepath.Join(root, "var/lib/dpkg", f), map[bool]string{true: "1\n"}[f == "info/format"])
	}
	for _, f := range []string{"updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDebOfEngramd(t *testing.T) {
	root := emptyRoot(t)
	deb := find(t, "engramd_*_"+here+".deb")
	dpkg(t, root, "--install", deb)

	passwd := read(t, filepath.Join(root, "etc/passwd"))
	var uid, gid int
	_, entry, _ := strings.Cut(passwd, "\nengramd:x:")
	if _, err := fmt.Sscanf(entry, "%d:%d:", &uid, &gid); err != nil || uid == 0 || !strings.Contains(entry, ":/var/lib/engramd:/usr/sbin/nologin") {
		t.Fatalf("the user is wrong: %v\n%s", err, passwd)
	}
	data := filepath.Join(root, "var/lib/engramd")
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != 0o700 || int(owner.Uid) != uid || int(owner.Gid) != gid {
		t.Errorf("the data folder is %v of %d:%d, want 0700 of %d:%d", info.Mode(), owner.Uid, owner.Gid, uid, gid)
	}
	unit := read(t, filepath.Join(root, "usr/lib/systemd/system/engramd.service"))
	if !strings.Contains(unit, "ExecStart=/usr/bin/engramd serve --config /etc/engramd/engramd.toml --data /var/lib/engramd") ||
		strings.Contains(unit, "/usr/local") || !strings.HasPrefix(unit, "[Unit]\n") {
		t.Errorf("the unit is not for a package:\n%s", unit)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/systemd")); err == nil {
		t.Error("installing enabled the service")
	}

	// The unit's command, by the unit's user, in a root that has no library.
	run(t, nil, "/", "chroot", "--userspec", fmt.Sprintf("%d:%d", uid, gid), root,
		"/usr/bin/engramd", "config", "--check", "/etc/engramd/engramd.toml")
	if out := run(t, nil, "/", "chroot", root, "/usr/bin/engramd", "version"); !strings.Contains(out, "sqlite_fts5") {
		t.Errorf("engramd version: %s", out)
	}

	// The operator's configuration and the memories outlive an upgrade, a
	// removal and a purge as they should.
	config := filepath.Join(root, "etc/engramd/engramd.toml")
	write(t, config, "listen = \"127.0.0.1:7000\"\n")
	write(t, filepath.Join(data, "engramd.db"), "memories")
	dpkg(t, root, "--install", deb)
	if read(t, config) != "listen = \"127.0.0.1:7000\"\n" {
		t.Error("an upgrade wrote over the configuration")
	}
	dpkg(t, root, "--remove", "engramd")
	if read(t, config) == "" || read(t, filepath.Join(data, "engramd.db")) != "memories" {
		t.Error("a removal took more than the program")
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/engramd")); err == nil {
		t.Error("the program is still there")
	}
	out := dpkg(t, root, "--purge", "engramd")
	if read(t, filepath.Join(data, "engramd.db")) != "memories" || !strings.Contains(out, "the memories are still in /var/lib/engramd") {
		t.Errorf("a purge must keep the memories and say so:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/engramd")); err == nil {
		t.Error("a purge left the configuration")
	}
	dpkg(t, root, "--install", deb)
	if strings.Count(read(t, filepath.Join(root, "etc/passwd")), "\nengramd:") != 1 || read(t, filepath.Join(data, "engramd.db")) != "memories" {
		t.Error("installed again, the package does not find its user and data")
	}
}

func TestDebOfEngramctl(t *testing.T) {
	root := emptyRoot(t)
	dpkg(t, root, "--install", find(t, "engramctl_*_"+here+".deb"))
	serveMCP(t, clean(t, filepath.Join(root, "usr/bin")), "installed/deb", filepath.Join(root, "usr/bin/engramctl"), "mcp", "--tools", "memory")
	dpkg(t, root, "--purge", "engramctl")
	if _, err := os.Stat(filepath.Join(root, "usr")); err == nil {
		t.Errorf("purged, it leaves %s", run(t, nil, root, "find", "usr"))
	}
	fields := run(t, nil, "", "dpkg-deb", "--field", find(t, "engramctl_*_arm64.deb"), "Package", "Architecture")
	if fields != "Package: engramctl\nArchitecture: arm64\n" {
		t.Errorf("the package for the other processor says %s", fields)
	}
}
