package installed

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// remembering is the one relay of these tests, with an agent and an owner: the
// static engramd in a root that has nothing but it.
func remembering(t *testing.T) *memory {
	t.Helper()
	shared.Do(func() {
		root, err := os.MkdirTemp("", "installed")
		if err != nil {
			t.Fatal(err)
		}
		shared.root = root
		run(t, nil, root, "tar", "xzf", find(t, "engramd_*_linux_"+here+".tar.gz"), "--strip-components=1")
		run(t, nil, root, "tar", "xzf", find(t, "engramctl_*_linux_"+here+".tar.gz"), "--strip-components=1")
		ctl := filepath.Join(root, "engramctl")
		env := []string{"HOME=" + root}
		run(t, env, root, ctl, "key", "new", filepath.Join(root, "agent.key"))
		owner, _, _ := strings.Cut(run(t, env, root, ctl, "key", "new", filepath.Join(root, "owner.key")), "\n")
		address := serve(t, root)
		shared.memory = &memory{relay: address, env: []string{
			"ENGRAM_RELAYS=" + address, "ENGRAM_OWNER=" + owner, "ENGRAM_KEY_FILE=" + filepath.Join(root, "agent.key"),
		}}
	})
	if shared.memory == nil {
		t.Fatal("there is no relay: another test says why")
	}
	return shared.memory
}

// serve starts root's engramd with root as its whole world. It ends with the
// tests.
func serve(t *testing.T, root string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	cmd := exec.Command("/engramd", "serve", "--listen", address, "--data", "/data", "--metrics-listen", "")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
	logged, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(logged)
	var seen strings.Builder
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), address) {
			go func() {
				for lines.Scan() {
				}
			}()
			return "ws://" + address
		}
	}
	t.Fatalf("engramd did not start in an empty root:\n%s", seen.String())
	return ""
}

// TestArchives: what is in each, and that this machine's programs run.
func TestArchives(t *testing.T) {
	v := version(t)
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		folder := "engramctl_" + v + "_" + platform + "/"
		got := run(t, nil, "", "tar", "tzf", filepath.Join(dist, strings.TrimSuffix(folder, "/")+".tar.gz"))
		want := folder + "LICENSE\n" + folder + "README.md\n" + folder + "THIRD-PARTY-LICENSES.txt\n" + folder + "engramctl\n"
		if got != want {
			t.Errorf("%s has\n%s", folder, got)
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		root := t.TempDir()
		run(t, nil, root, "python3", "-m", "zipfile", "-e", find(t, "engramctl_*_windows_"+arch+".zip"), ".")
		if exe := read(t, filepath.Join(root, "engramctl_"+v+"_windows_"+arch, "engramctl.exe")); !strings.HasPrefix(exe, "MZ") {
			t.Error("engramctl.exe is no program of Windows")
		}
	}
	root := t.TempDir()
	run(t, nil, root, "tar", "xzf", find(t, "engramctl_*_linux_"+here+".tar.gz"), "--strip-components=1")
	built := os.Getenv("ENGRAM_VERSION")
	if out := run(t, nil, "", filepath.Join(root, "engramctl"), "version"); built == "" || !strings.HasPrefix(out, "engramctl "+built+" (") {
		t.Errorf("the program says %q, it was built as %q", out, built)
	}
	serveMCP(t, clean(t), "installed/archive", filepath.Join(root, "engramctl"), "mcp", "--tools", "memory")
}

// TestSums: every file is named, and sha256sum agrees.
func TestSums(t *testing.T) {
	run(t, nil, dist, "sha256sum", "--strict", "--check", "--quiet", "SHA256SUMS")
	named := strings.Count(read(t, filepath.Join(dist, "SHA256SUMS")), "\n")
	files := strings.Count(run(t, nil, dist, "find", ".", "-type", "f"), "\n")
	if named != files-1 {
		t.Errorf("%d of %d files are named", named, files-1)
	}
}

// TestDocsNameWhatIsThere: the packages that docs/install.md and docs/releasing.md
// speak of exist.
func TestDocsNameWhatIsThere(t *testing.T) {
	named := regexp.MustCompile(`(?:npm/|pypi/)?(?:engram[a-z-]*[_-])[a-z0-9_-]*VERSION[a-z0-9_]*\.[a-z.]*[a-z]`)
	for _, page := range []string{"install.md", "releasing.md"} {
		for _, name := range named.FindAllString(read(t, filepath.Join("../../docs", page)), -1) {
			folder := ""
			switch filepath.Ext(name) {
			case ".mcpb":
				folder = "mcpb"
			case ".tgz":
				folder = "npm"
			}
			pattern := strings.NewReplacer("VERSION", "[0-9]*", "OS-ARCH", "*").Replace(filepath.Base(name))
			if found, err := filepath.Glob(filepath.Join(dist, folder, pattern)); err != nil || len(found) == 0 {
				t.Errorf("docs/%s speaks of %s: %v", page, name, err)
			}
		}
	}
}
