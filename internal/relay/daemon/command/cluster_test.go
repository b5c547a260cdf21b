package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/relay/daemon/authority"
	"engramd/internal/relay/daemon/membership"
)

// A node's boot numbers ascend, whatever ended it, and a changed file is
// refused.
func TestNodeIdentity(t *testing.T) {
	dir := t.TempDir()
	if _, err := membership.NextBoot(dir); !errors.Is(err, membership.ErrNone) {
		t.Errorf("%v for a folder that is no node's", err)
	}
	id := membership.Identity{Cluster: [16]byte{1, 2}, Node: [8]byte{3}}
	if err := id.Save(dir); err != nil {
		t.Fatal(err)
	}
	for want := range uint64(3) {
		got, err := membership.NextBoot(dir)
		if err != nil || got.Boot != want+1 || got.Node != id.Node || got.Cluster != id.Cluster {
			t.Errorf("boot %d: %+v, %v", want+1, got, err)
		}
	}
	path := filepath.Join(dir, membership.File)
	for _, text := range []string{"", "{}", `{"cluster":"01","node":"02","boot":1}`, `{"cluster":"zz"}`, "[]"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := membership.NextBoot(dir); err == nil {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
}

// A command that cannot be carried out is refused before anything changes.
func TestClusterCommandsRefuse(t *testing.T) {
	for args, want := range map[string]string{
		"cluster":                                  "COMMAND is required",
		"cluster raise":                            "a number is required",
		"cluster raise x":                          "want a number",
		"cluster void 0 --yes":                     "want a number",
		"cluster void 7":                           "--yes",
		"cluster void 7 -1 --yes":                  "flag",
		"cluster init":                             "names no server",
		"cluster join":                             "names no server",
		"cluster remove":                           "NODE is required",
		"cluster remove b":                         "no relay runs",
		"cluster remove-server":                    "SERVER is required",
		"cluster remove-server s2":                 "names no server",
		"cluster doctor":                           "names no server",
		"cluster token":                            "NAME is required",
		"cluster token revoke":                     "NAME is required",
		"cluster token b/c":                        "want the name",
		"cluster token b":                          "want a configuration of engramd cluster init",
		"cluster init --advertise a":               "--servers",
		"cluster init --advertise a --servers b,b": "different machines",
		"cluster init --advertise a --servers b,c --recipient age": "not an age recipient",
		"cluster init --advertise a --servers b,c --listen :1":     "public_url",
		"cluster init --renew-authority":                           "want a configuration of engramd cluster init",
		"cluster join --token-file /dev/null":                      "names no server",
		"cluster join --token-file cluster_test.go":                "not a token",
		"cluster leave":                 "belongs to no cluster",
		"cluster configure":             "no relay runs",
		"cluster raise 2":               "no relay runs",
		"cluster void 7 --yes":          "belongs to no cluster",
		"serve --cluster":               "cluster.urls",
		"cluster init --cluster-urls x": "nats://",
	} {
		t.Run(args, func(t *testing.T) {
			var stderr strings.Builder
			m := &Main{Args: append(strings.Fields(args), "--data", t.TempDir()), Stdout: &strings.Builder{}, Stderr: &stderr}
			if code := m.Main(t.Context()); code == exitOK || !strings.Contains(stderr.String(), want) {
				t.Errorf("%d: %s", code, stderr.String())
			}
		})
	}
}

// A token is not used up where the folder cannot take what it gives.
func TestJoinKeepsTokenForAnEmptyFolder(t *testing.T) {
	for _, name := range []string{"engramd.db", "cluster.json", "relay.key", "master.key", "cluster"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		token := authority.Token{Door: "127.0.0.1:1", Name: "b.example"} // nobody listens there
		var stderr strings.Builder
		m := &Main{Args: []string{"cluster", "join", "--data", dir}, Env: []string{tokenVariable + "=" + token.String()}, Stdout: &strings.Builder{}, Stderr: &stderr}
		if code := m.Main(t.Context()); code == exitOK || !strings.Contains(stderr.String(), name+" is there already") || strings.Contains(stderr.String(), token.String()) {
			t.Errorf("%s: %d %s", name, code, stderr.String())
		}
	}
}
