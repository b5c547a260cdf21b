package repocheck

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// needCgo are the files that are left out where engramctl is built without cgo:
// tests that need the relay itself in their process. They run in make test.
var needCgo = map[string][]string{
	"internal/cli/admin": {"methods_test.go"}, // compares with internal/relay/management
	// These look into the relay's store, serve its contract API, or leave an API
	// out.
	"internal/client":          {"manage_relay_test.go"},
	"internal/client/contract": {"api_test.go", "bearer_test.go", "moves_test.go", "owner_test.go", "pairs_test.go", "token_test.go"},
	"internal/client/memory":   {"approvals_relay_test.go"},
	"internal/client/evidence": {"evidence_test.go"}, // signs with the keys of the store's tests
	"internal/agent/mcp":       {"contract_life_test.go"},
	"internal/agent/session":   {"expiry_relay_test.go"}, // has the relay's clock pass
}

// another are further reasons for leaving a file out: another system, make nightly, another
// build. Go code replaces libsecp256k1 where it is missing.
var another = []string{"//go:build nightly", "//go:build libsecp256k1", "//go:build !linux\n", "//go:build unix && !linux\n", "//go:build unix\n"}

// TestEngramctlNeedsNoCgo: without cgo no file of engramctl, nor a test, is
// left out except those above, and none for an unknown reason.
func TestEngramctlNeedsNoCgo(t *testing.T) {
	left := map[string][]string{}
	for _, pkg := range withoutCgo(t) {
		name := strings.TrimPrefix(pkg.ImportPath, "engramd/")
		for _, file := range append(pkg.IgnoredGoFiles, pkg.CgoFiles...) {
			text, err := os.ReadFile("../../" + name + "/" + file)
			if err != nil {
				t.Fatal(err)
			}
			known := slices.ContainsFunc(another, func(line string) bool { return strings.Contains(string(text), line) })
			if strings.Contains(string(text), "//go:build cgo\n") {
				left[name] = append(left[name], file)
			} else if !known && !strings.HasSuffix(file, "_windows.go") && !strings.HasSuffix(file, "_darwin.go") {
				t.Errorf("%s/%s is left out without cgo", name, file)
			}
		}
	}
	if !maps.EqualFunc(left, needCgo, slices.Equal) {
		t.Errorf("left out without cgo:\n%v, and this test lists\n%v", left, needCgo)
	}
}

// ignoring is what a package leaves out, as go list reports it.
type ignoring struct {
	ImportPath               string
	IgnoredGoFiles, CgoFiles []string
}

// withoutCgo returns the packages of engramctl as they are built for Linux
// without cgo.
func withoutCgo(t *testing.T) (all []ignoring) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,IgnoredGoFiles,CgoFiles", "engramd/cmd/engramctl")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var pkg ignoring
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(pkg.ImportPath, "engramd/") {
			all = append(all, pkg)
		}
	}
	if len(all) < 5 {
		t.Fatalf("go list named %d packages only", len(all))
	}
	return all
}
