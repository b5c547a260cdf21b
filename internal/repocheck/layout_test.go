package repocheck

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wings are the floors of the house: each may import itself and what stands
// beside it. A first folder without a line fails the test.
var wings = [7]struct{ names, below string }{
	{"nips migrations", ""},
	{"protocol platform secrets web", "nips"},
	{"client snapshot", "nips protocol platform"},
	{"relay", "nips migrations protocol platform secrets web client snapshot"},
	{"memory", "nips protocol platform secrets client snapshot"},
	{"agent", "nips protocol platform secrets client snapshot memory"},
	{"cli", "nips protocol platform secrets client snapshot memory agent web"},
}

// ownWing is what the main package of a program imports; the rest of a program is in its wing.
var ownWing = map[string]string{"engramd": "relay", "engramctl": "cli"}

// within lists the packages that import less of their own wing than all of it,
// and what they import of it.
var within = map[string][]string{
	"nips/nipae": {}, "nips/kind": {}, "nips/nip01": {}, "nips/nip77": {},
	"protocol/schnorr": {}, "secrets": {}, "web": {},
	// The relay's base knows neither its store nor its network.
	"relay/config": {}, "relay/fairness": {}, "relay/gate": {}, "relay/retention": {}, "relay/memlimit": {}, "relay/httpauth": {}, "relay/clock": {},
	"relay/metrics": {"relay/gate"},
	"relay/policy":  {"relay/fairness", "relay/gate"},
	"relay/store":   {"relay/fairness", "relay/gate", "relay/retention"},
	"relay/cluster": {"relay/fairness", "relay/store"},
	"relay":         {"relay/fairness", "relay/gate", "relay/metrics", "relay/policy", "relay/retention", "relay/store"},
	// Parts of the database know nothing of each other.
	"relay/store/sqlite/engine":     {"relay/fairness", "relay/store", "relay/store/sqlite/engine/highwater", "relay/store/sqlite/engine/sigbus", "relay/store/sqlite/engine/steps", "relay/store/sqlite/engine/sums", "relay/store/sqlite/engine/walscan"},
	"relay/store/sqlite/admin":      {"relay/store", "relay/store/sqlite/column", "relay/store/sqlite/engine"},
	"relay/store/sqlite/identities": {"relay/store", "relay/store/sqlite/column", "relay/store/sqlite/engine"},
	"relay/store/sqlite/outbox":     {"relay/store", "relay/store/sqlite/column", "relay/store/sqlite/engine"},
	"relay/store/sqlite/contracts":  {"relay/gate", "relay/store", "relay/store/sqlite/column", "relay/store/sqlite/engine"},
	// Recall is computed from documents that it is given.
	"memory/recall": {"memory/quote"}, "memory/activity": {"memory/recall"},
	"memory/project": {}, "memory/foreign": {}, "memory/folder": {},
}

// events are what the packages below relay/store/sqlite/events import of their wing.
var events = []string{"relay/fairness", "relay/gate", "relay/retention", "relay/store", "relay/store/sqlite/column", "relay/store/sqlite/engine"}

// opens says who may import packages that are one implementation of several.
var opens = map[string][]string{
	"relay/store/sqlite":      {"relay/daemon"},
	"relay/cluster/jetstream": {"relay/daemon"},
}

// support packages are imported by tests only, and may import anything.
var support = []string{"e2e", "repocheck", "relay/gate/oracle", "relay/gate/gatetest", "relay/store/sqlite/storetest", "relay/http/bridgetest", "relay/ingest/ingesttest", "relay/notify/natstest", "client/clienttest"}

// measured are the packages that engram-load and its commands measure, or measure with.
var measured = []string{"protocol/wire", "nips/nipae", "memory/vectors/embed", "memory/meaning", "memory/recall", "memory/activity", "nips/frontmatter", "e2e/relaytest"}

// only says who may import a foreign package outside of tests.
var only = map[string][]string{
	"database/sql":                                            {},
	"database/sql/driver":                                     {"relay/store/sqlite/engine", "cmd/engram-load/internal/recalled"},
	"github.com/ncruces/go-sqlite3":                           {"memory/state/sealedfile"},
	"github.com/mattn/go-sqlite3":                             {"relay/store/sqlite/engine", "relay/store/sqlite/engine/steps", "relay/store/sqlite/engine/sums", "cmd/engram-load/internal/recalled"},
	"github.com/fiatjaf/khatru":                               {"relay", "cmd/engram-load/peers"},
	"github.com/gorilla/websocket":                            {"relay/websocket", "client"},
	"github.com/BurntSushi/toml":                              {"relay/config", "agent/harness", "cmd/engram-load/internal/bench", "cli/cliutil", "cli/setup"},
	"github.com/modelcontextprotocol/go-sdk/mcp":              {"agent/mcp", "agent/mcp/stdio"},
	"filippo.io/age":                                          {"snapshot/bundle"},
	"filippo.io/age/agessh":                                   {"snapshot/bundle"},
	"github.com/klauspost/compress/zstd":                      {"snapshot/bundle"},
	"github.com/consensys/gnark-crypto/ecc/secp256k1":         {"protocol/schnorr/batch"},
	"github.com/fsnotify/fsnotify":                            {"memory/folder"},
	"github.com/blevesearch/snowballstem":                     {"memory/recall"},
	"github.com/zalando/go-keyring":                           {"platform/keychain"},
	"golang.org/x/net/idna":                                   {"relay"},
	"golang.org/x/text/unicode/norm":                          {"memory/recall", "memory/folder", "memory/quote", "memory/meaning/matrix"},
	"github.com/nats-io/nats.go":                              {"relay/notify", "relay/cluster/jetstream"},
	"github.com/nats-io/nats.go/jetstream":                    {"relay/cluster/jetstream"},
	"github.com/prometheus/client_golang/prometheus":          {"relay/metrics"},
	"github.com/prometheus/client_golang/prometheus/promhttp": {"relay/metrics"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoDownwards(t *testing.T) {
	for _, pkg := range list(t) {
		name := short(pkg.ImportPath)
		if isSupport(name) {
			continue
		}
		for _, imported := range pkg.Imports {
			if own, ok := strings.CutPrefix(imported, "engramd/"); ok {
				if why := refused(name, short("engramd/"+own)); why != "" {
					t.Errorf("%s imports %s: %s", name, own, why)
				}
			} else if who, limited := only[imported]; limited && !slices.Contains(who, name) {
				t.Errorf("%s imports %s, which is for %v only", name, imported, who)
			}
		}
	}
}

// short returns a package's path from its wing on.
func short(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, "engramd/"), "internal/")
}

// below reports whether a package is a folder or in it.
func below(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// refused returns why a package may not import another, "" if it may.
func refused(from, to string) string {
	wing, rest, _ := strings.Cut(from, "/")
	target, _, _ := strings.Cut(to, "/")
	if wing == "cmd" {
		program, _, _ := strings.Cut(rest, "/")
		may, ok := ownWing[program]
		switch {
		case below(to, "cmd/"+program), ok && target == may:
			return ""
		case program == "engram-load" && slices.Contains(measured, to):
			return ""
		}
		return "a program imports its own wing"
	}
	floor := slices.IndexFunc(wings[:], func(w struct{ names, below string }) bool { return slices.Contains(strings.Fields(w.names), wing) })
	switch {
	case floor < 0:
		return "its first folder is no wing: decide where it belongs"
	case isSupport(to):
		return "it is for tests"
	case wing != target && !slices.Contains(strings.Fields(wings[floor].below), target):
		return "it is not below it"
	}
	less, ok := within[from]
	if below(from, "relay/store/sqlite/events") && !below(to, "relay/store/sqlite/events") {
		less, ok = events, true
	}
	if ok && wing == target && !slices.Contains(less, to) {
		return "it knows less of its wing"
	}
	if who, ok := opens[to]; ok && !slices.ContainsFunc(who, func(w string) bool { return below(from, w) }) && !below(from, to) {
		return "it is opened elsewhere"
	}
	return ""
}

func isSupport(name string) bool {
	return slices.ContainsFunc(support, func(s string) bool {
		return name == s || strings.HasPrefix(name, s+"/")
	})
}

func list(t *testing.T) []listed {
	t.Helper()
	var all []listed
	for _, module := range []string{product, load} {
		dec, before := json.NewDecoder(strings.NewReader(goList(t, module, "-json=ImportPath,Imports", "./..."))), len(all)
		for {
			var pkg listed
			if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, pkg)
		}
		if len(all) < before+4 {
			t.Fatalf("%s: go list named %d packages only", module, len(all)-before)
		}
	}
	return all
}

// The folders of the modules: the product, and engram-load.
const (
	product = "."
	load    = "cmd/engram-load"
)

// goList runs go list in the folder of a module.
func goList(t *testing.T, module string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-tags", "sqlite_fts5 libsecp256k1"}, args...)...)
	cmd.Dir = filepath.Join("../..", module)
	var says strings.Builder
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v: %s", module, err, says.String())
	}
	return string(out)
}
