package installed

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// npmRegistry serves the packages of dist/npm as npm's registry would, on this
// machine, and remembers what was asked for.
func npmRegistry(t *testing.T) (url string, asked func() string) {
	t.Helper()
	tarballs, err := filepath.Glob(filepath.Join(dist, "npm", "*.tgz"))
	if err != nil || len(tarballs) != 7 {
		t.Fatalf("%v, %v: want engramctl and six platforms", tarballs, err)
	}
	mux := http.NewServeMux()
	var mu sync.Mutex
	var log strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		log.WriteString(r.Method + " " + r.URL.Path + "\n")
		mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for _, path := range tarballs {
		var manifest map[string]any
		if err := json.Unmarshal([]byte(run(t, nil, "", "tar", "xzOf", path, "package/package.json")), &manifest); err != nil {
			t.Fatal(err)
		}
		name, version := manifest["name"].(string), manifest["version"].(string)
		if filepath.Base(path) != name+"-"+version+".tgz" {
			t.Errorf("%s is %s %s", path, name, version)
		}
		if _, ok := manifest["scripts"]; ok {
			t.Errorf("%s runs something when it is installed", name)
		}
		data := []byte(read(t, path))
		sum := sha512.Sum512(data)
		manifest["dist"] = map[string]string{
			"tarball":   server.URL + "/" + name + "/-/" + filepath.Base(path),
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			json.NewEncoder(w).Encode(map[string]any{
				"name": name, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: manifest},
			})
		})
		mux.HandleFunc("GET /"+name+"/-/"+filepath.Base(path), func(w http.ResponseWriter, r *http.Request) { w.Write(data) })
	}
	return server.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}

func npmEnv(t *testing.T, registry string) []string {
	return append(clean(t), "npm_config_registry="+registry, "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false")
}

// TestNpx is what people's settings say: npx -y engramctl mcp.
func TestNpx(t *testing.T) {
	registry, asked := npmRegistry(t)
	env := npmEnv(t, registry)
	serveMCP(t, env, "installed/npx", "npx", "-y", "engramctl", "mcp", "--tools", "memory")
	mine := map[string]string{"amd64": "linux-x64", "arm64": "linux-arm64"}[here]
	for _, line := range strings.Split(asked(), "\n") {
		if strings.HasSuffix(line, ".tgz") && !strings.Contains(line, mine) && !strings.HasPrefix(line, "GET /engramctl/") {
			t.Errorf("npm fetched another platform's program: %s", line)
		}
	}
}

// TestNpmFromFiles is what docs/install.md says for a machine without a network.
func TestNpmFromFiles(t *testing.T) {
	env := append(npmEnv(t, "http://127.0.0.1:1"), "npm_config_fetch_retries=0")
	prefix := t.TempDir()
	mine := map[string]string{"amd64": "linux-x64", "arm64": "linux-arm64"}[here]
	run(t, env, prefix, "npm", "install", "--global", "--prefix", prefix, find(t, "npm/engramctl-[0-9]*.tgz"), find(t, "npm/engramctl-"+mine+"-*.tgz"))
	serveMCP(t, env, "installed/npm", filepath.Join(prefix, "bin/engramctl"), "mcp", "--tools", "memory")
}

// TestNpmInstall installs into an empty folder and uses the command.
func TestNpmInstall(t *testing.T) {
	registry, _ := npmRegistry(t)
	env, folder := npmEnv(t, registry), t.TempDir()
	write(t, filepath.Join(folder, "package.json"), "{}\n")
	run(t, env, folder, "npm", "install", "engramctl")
	command := filepath.Join(folder, "node_modules/.bin/engramctl")
	if out := run(t, env, folder, command, "version"); !strings.HasPrefix(out, "engramctl ") {
		t.Errorf("engramctl version: %s", out)
	}
	for args, want := range map[string]int{"no-such-command": 2, "mem get nothing --relay ws://127.0.0.1:1": 2} {
		cmd := exec.Command(command, strings.Fields(args)...)
		cmd.Env = env
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Errorf("engramctl %s: %v, want exit code %d", args, err, want)
		}
	}

	// A harness ends the command that it started, which is node.
	m := remembering(t)
	cmd := exec.Command(command, "mcp")
	cmd.Env = append(env, m.env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 64)); n == 0 {
		t.Fatalf("no answer: %v", err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// The program holds the other end: it ends, or this read never does.
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(out); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()

	// Without the platform's package the command says what is wrong.
	if err := os.RemoveAll(filepath.Join(folder, "node_modules", "engramctl-"+map[string]string{"amd64": "linux-x64", "arm64": "linux-arm64"}[here])); err != nil {
		t.Fatal(err)
	}
	broken := exec.Command(command, "version")
	broken.Env = env
	text, err := broken.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "is not installed") {
		t.Errorf("without its program: %v, %s", err, text)
	}
}
